import { isUtf8 } from 'node:buffer';
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import { dropTrailing, stripBom } from '../lib/text.ts';
import { type Document, isDocument } from './document.ts';

/** The content of a configuration file before validation. @throws AppError `invalid` with the name of the file */
export function readDocument(file: string): Document {
  try {
    const document = parseJson(readText(file));
    if (isDocument(document)) return document;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw new AppError('invalid', `${file}: ${error.message}`, { cause: error });
  }
  throw new AppError('invalid', `${file}: must hold one JSON object, {…}`);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    const problem = isMissing ? 'there is no such file; "gangway init" writes one' : 'cannot be read';
    throw new AppError('invalid', problem, { cause: error });
  }
}

/**
 * Parses JSON as `JSON.parse` does, with help for a file that was written by hand: a syntax error names line and column
 * without quoting the text, which may be a secret, and a key that an object has twice is refused. A byte order mark is
 * skipped.
 *
 * @throws AppError `invalid`
 */
export function parseJson(source: string): unknown {
  const text = stripBom(source);
  const end = skipSpace(text, readValue(text, skipSpace(text, 0), 0));
  if (end < text.length) throw syntaxError(text, end, 'expected nothing more');
  return JSON.parse(text);
}

// Every pattern matches at an offset, and `space` also matches nothing.
const space = /[ \t\r\n]*/y;
const string = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Far deeper than any configuration, and far from an overflow of the stack. */
const maxDepth = 100;

/** @returns the offset after the value */
function readValue(text: string, offset: number, depth: number): number {
  if (depth > maxDepth) throw syntaxError(text, offset, 'this is nested too deep');
  if (text[offset] === '{') return readItems(text, offset, '}', depth);
  if (text[offset] === '[') return readItems(text, offset, ']', depth);
  return readToken(text, offset, text[offset] === '"' ? string : scalar, 'expected a value');
}

function readItems(text: string, start: number, close: '}' | ']', depth: number): number {
  const keys = new Set<unknown>();
  let offset = skipSpace(text, start + 1);
  if (text[offset] === close) return offset + 1;
  for (;;) {
    if (close === '}') offset = readKey(text, offset, keys);
    offset = skipSpace(text, readValue(text, offset, depth + 1));
    if (text[offset] === close) return offset + 1;
    if (text[offset] !== ',') throw syntaxError(text, offset, `expected "," or "${close}"`);
    offset = skipSpace(text, offset + 1);
  }
}

/** @returns the offset of the value of the key */
function readKey(text: string, offset: number, keys: Set<unknown>): number {
  const keyEnd = readToken(text, offset, string, 'expected a key in double quotes');
  const key: unknown = JSON.parse(text.slice(offset, keyEnd));
  if (keys.has(key)) throw syntaxError(text, offset, 'this key is in the object twice');
  keys.add(key);
  const colon = skipSpace(text, keyEnd);
  if (text[colon] !== ':') throw syntaxError(text, colon, 'expected ":"');
  return skipSpace(text, colon + 1);
}

function skipSpace(text: string, offset: number): number {
  return readToken(text, offset, space, 'expected a space');
}

function readToken(text: string, offset: number, token: RegExp, problem: string): number {
  token.lastIndex = offset;
  if (!token.test(text)) throw syntaxError(text, offset, problem);
  return token.lastIndex;
}

function syntaxError(text: string, offset: number, problem: string): AppError {
  const before = text.slice(0, offset).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return new AppError('invalid', `line ${before.length}, column ${column}: ${problem}`);
}

const maxBytes = 64 * 1024;

/**
 * The content of a file with one secret or a short text, without a byte order mark and a newline at its end.
 *
 * @param folder what a relative `file` is relative to
 * @throws AppError `invalid` if it is missing, empty, not a regular file, not UTF-8 or larger than 64 KiB, without its content
 */
export function readSmallFile(file: string, folder: string): string {
  const absolute = path.resolve(folder, file);
  try {
    return readWhole(absolute);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('invalid', `the file ${absolute} cannot be read`, { cause: error });
  }
}

function readWhole(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new AppError('invalid', `the file ${file} does not exist`);
  if (!stats.isFile()) throw new AppError('invalid', `${file} is not a regular file`);
  if (stats.size > maxBytes) throw new AppError('invalid', `the file ${file} is over 64 KiB`);
  const bytes = readFileSync(file);
  // A NUL means UTF-16, in which no variable would be found.
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new AppError('invalid', `the file ${file} is not UTF-8; save it as UTF-8`);
  const content = dropTrailing(stripBom(bytes.toString('utf8')), '\r\n');
  if (content === '') throw new AppError('invalid', `the file ${file} is empty`);
  return content;
}
