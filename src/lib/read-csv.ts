import { Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { parse as parseWhole } from 'csv-parse/sync';
import { AppError } from '../domain/errors.ts';

interface CsvOptions {
  /** What it tries to do, for errors: "read the events". */
  purpose: string;
  /** Columns that must exist. Others are given as well. */
  columns: readonly string[];
  /** How long one line may be, including quoted line breaks. */
  maxLineBytes: number;
}

/**
 * Yields the lines of a CSV file (RFC 4180, with a header), by the names of their columns, as they
 * arrive. The whole file is never in memory. Empty lines are left out.
 *
 * @throws AppError `invalid` for a file that is not valid, with the number of the line and nothing of
 * its content; and what the chunks throw
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
  // A pipe does not pass errors on.
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

/** As a Map: a column may be called `__proto__`. */
function toLine(header: string[], fields: string[]): Map<string, string> {
  return new Map(header.map((name, index) => [name, fields[index] ?? '']));
}

/** An error of the parser quotes and keeps the line, so it is not passed on. Not all of its codes begin with `CSV_`. */
function toCsvError(error: unknown, purpose: string): unknown {
  if (!(error instanceof CsvError)) return error;
  return new AppError('invalid', `Could not ${purpose}: line ${String(error['lines'])} is no CSV (${error.code})`);
}

/**
 * The fields of one line, or null where its quotes are wrong. Read by itself, a line with a quote that is not closed
 * spoils no other.
 */
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
