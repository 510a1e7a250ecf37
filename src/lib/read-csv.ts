import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import { AppError } from '../domain/errors.ts';

interface CsvOptions {
  /** What is being read, for errors: "read the events". */
  purpose: string;
  /** Columns that must be there; others are given as well. */
  columns: readonly string[];
  /** How long one line may be, its quoted line breaks included. */
  maxLineBytes: number;
}

/**
 * The lines of a CSV file (RFC 4180, with a header), by the names of their columns, as they come in:
 * a file is never held whole. Empty lines are left out.
 *
 * @throws AppError `invalid` for what is no such file, with the number of the line and nothing of
 * what is in it; whatever the chunks throw
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
  // A pipe does not hand errors on.
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

/** What the parser says quotes the line, and keeps it: neither is handed on. */
function toCsvError(error: unknown, purpose: string): unknown {
  const { code, lines } = error as { code?: unknown; lines?: unknown };
  if (error instanceof AppError || typeof code !== 'string' || !code.startsWith('CSV_')) {
    return error;
  }
  return new AppError('invalid', `Could not ${purpose}: line ${String(lines)} is no CSV (${code})`);
}
