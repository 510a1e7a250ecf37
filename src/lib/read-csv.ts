import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { parse as parseWhole } from 'csv-parse/sync';
import { AppError } from '../domain/errors.ts';
import { stripBom } from './text.ts';

interface CsvOptions {
  /** What it tries to do, for errors: "read the events". */
  purpose: string;
  /** Columns that must exist. Others may. */
  columns: readonly string[];
  /** How long one line may be, including quoted line breaks. */
  maxLineBytes: number;
}

/**
 * Yields the lines of a CSV file (RFC 4180, with a header) as they arrive, by the names of their columns, without empty lines.
 * The whole file is never in memory.
 *
 * @throws AppError `invalid` for an invalid file, with the number of the line and none of its content; and what the chunks
 * throw
 */
export async function* readCsv(
  chunks: AsyncIterable<Uint8Array>,
  { purpose, columns, maxLineBytes }: CsvOptions,
): AsyncGenerator<ReadonlyMap<string, string>> {
  const parser = parse({
    bom: true,
    skip_empty_lines: true,
    max_record_size: maxLineBytes,
    record_delimiter: ['\r\n', '\n'],
  });
  const source = Readable.from(chunks, { objectMode: false });
  // `pipe` does not pass errors on.
  source.on('error', (error) => parser.destroy(error));
  source.pipe(parser);
  let header: string[] | undefined;
  try {
    for await (const fields of parser as AsyncIterable<string[]>) {
      if (header === undefined) header = toHeader(fields, columns, purpose);
      else yield toLine(header, fields);
    }
    if (header === undefined) throw new AppError('invalid', `Could not ${purpose}: it is empty`);
  } catch (error) {
    throw toCsvError(error, purpose);
  } finally {
    source.destroy();
  }
}

function toHeader(fields: string[], columns: readonly string[], purpose: string): string[] {
  const missing = columns.filter((column) => !fields.includes(column));
  if (missing.length === 0) return fields;
  const names = missing.map((name) => `"${name}"`).join(', ');
  throw new AppError('invalid', `Could not ${purpose}: there is no column ${names}`);
}

/** A Map, because a column may be called `__proto__`. */
function toLine(header: string[], fields: string[]): Map<string, string> {
  return new Map(header.map((name, index) => [name, fields[index] ?? '']));
}

/** The parser's error quotes the line, so it is not kept. */
function toCsvError(error: unknown, purpose: string): unknown {
  if (!(error instanceof CsvError)) return error;
  return new AppError('invalid', `Could not ${purpose}: line ${String(error['lines'])} is not CSV (${error.code})`);
}

/** The fields of one line; null if its quotes are wrong. An open quote does not affect other lines. */
export function splitCsvLine(text: string, delimiter: string): string[] | null {
  if (!text.includes('"')) return text.split(delimiter);
  try {
    const [fields = null] = parseWhole(text, { delimiter, record_delimiter: '\n' }) as string[][];
    return fields;
  } catch (error) {
    if (error instanceof CsvError) return null;
    throw error;
  }
}

/** One line without its end. `fault` says why it cannot be read. */
export type Line = { number: number; text: string } | { number: number; fault: string };

const lineFeed = 0x0a;
const nothing = Buffer.alloc(0);

/**
 * Yields the lines of a UTF-8 text as they arrive, numbered from 1, without a byte order mark and carriage returns. The lines
 * that end in one chunk come together, because one by one would be far slower. At most `maxLineBytes` of an unfinished line
 * are kept.
 *
 * @throws what the chunks throw
 */
export async function* readLines(chunks: AsyncIterable<Buffer>, maxLineBytes: number): AsyncGenerator<Line[]> {
  const append = (begun: Buffer, more: Buffer) =>
    begun.length === 0
      ? more
      : // One byte too many is enough to show that the line is too long.
        Buffer.concat([begun, more.subarray(0, Math.max(0, maxLineBytes + 1 - begun.length))]);
  let number = 0;
  let begun: Buffer = nothing;
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, from)) {
      number += 1;
      lines.push(toText(number, append(begun, chunk.subarray(from, end)), maxLineBytes));
      begun = nothing;
      from = end + 1;
    }
    begun = append(begun, chunk.subarray(from));
    yield lines;
  }
  if (begun.length > 0) yield [toText(number + 1, begun, maxLineBytes)];
}

function toText(number: number, bytes: Buffer, maxLineBytes: number): Line {
  if (bytes.length > maxLineBytes) return { number, fault: `is longer than ${maxLineBytes} bytes` };
  if (!isUtf8(bytes)) return { number, fault: 'is not UTF-8 text' };
  const text = bytes.toString('utf8').replace(/\r$/, '');
  return { number, text: number === 1 ? stripBom(text) : text };
}
