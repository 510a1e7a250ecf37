import { AppError } from '../domain/errors.ts';
import { stripBom } from '../lib/strip-bom.ts';

/**
 * Parses JSON as `JSON.parse` does, with two helps for a file that was written by hand: a syntax error
 * names line and column without quoting the text (it may be a secret), and a key that occurs twice in an
 * object is refused. A byte order mark is skipped. Throws `invalid`, also for what is nested more than 100 deep.
 */
export function parseJson(source: string): unknown {
  const text = stripBom(source);
  const end = skipSpace(text, readValue(text, skipSpace(text, 0), 0));
  if (end < text.length) throw syntaxError(text, end, 'expected nothing more');
  return JSON.parse(text);
}

function syntaxError(text: string, offset: number, problem: string): AppError {
  const before = text.slice(0, offset).split('\n');
  const column = (before.at(-1)?.length ?? 0) + 1;
  return new AppError('invalid', `line ${before.length}, column ${column}: ${problem}`);
}

// every pattern matches at an offset, and the empty match of `space` cannot fail
const space = /[ \t\r\n]*/y;
const string = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Takes the offset at which a part begins and how deep it is, and returns the offset after it. */
type Reader = (text: string, offset: number, depth: number) => number;

/** Far deeper than any configuration, and far from the end of the stack. */
const maxDepth = 100;

function readValue(text: string, offset: number, depth: number): number {
  if (depth > maxDepth) throw syntaxError(text, offset, 'this is nested too deep');
  if (text[offset] === '{') return readList(text, offset, { close: '}', depth, readItem: createMemberReader() });
  if (text[offset] === '[') return readList(text, offset, { close: ']', depth, readItem: readValue });
  return readToken(text, offset, text[offset] === '"' ? string : scalar, 'expected a value');
}

interface List {
  close: string;
  depth: number;
  readItem: Reader;
}

function readList(text: string, start: number, { close, depth, readItem }: List): number {
  let offset = skipSpace(text, start + 1);
  if (text[offset] === close) return offset + 1;
  for (;;) {
    offset = skipSpace(text, readItem(text, offset, depth + 1));
    if (text[offset] === close) return offset + 1;
    if (text[offset] !== ',') throw syntaxError(text, offset, `expected "," or "${close}"`);
    offset = skipSpace(text, offset + 1);
  }
}

function createMemberReader(): Reader {
  const seen = new Set<unknown>();
  return (text, offset, depth) => {
    const keyEnd = readToken(text, offset, string, 'expected a key in double quotes');
    const key: unknown = JSON.parse(text.slice(offset, keyEnd));
    if (seen.has(key)) throw syntaxError(text, offset, 'this key is in the object twice');
    seen.add(key);
    const colon = skipSpace(text, keyEnd);
    if (text[colon] !== ':') throw syntaxError(text, colon, 'expected ":"');
    return readValue(text, skipSpace(text, colon + 1), depth);
  };
}

function skipSpace(text: string, offset: number): number {
  return readToken(text, offset, space, 'expected a space');
}

function readToken(text: string, offset: number, token: RegExp, problem: string): number {
  token.lastIndex = offset;
  if (!token.test(text)) throw syntaxError(text, offset, problem);
  return token.lastIndex;
}
