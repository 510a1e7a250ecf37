import type { Day } from '../../domain/usage.ts';
import { readLines } from '../../lib/read-lines.ts';
import type { ImportFormat, LineValues, ReadEntry } from './entry.ts';
import { parseEntry } from './parse-entry.ts';
import { createCsvReader } from './read-csv-line.ts';
import { readJsonLine } from './read-json-line.ts';

const maxLineBytes = 16 * 1024;

/**
 * Reads a file as it comes in, some lines at a time: what each line says, or its fault. Empty lines are skipped.
 * After a bad CSV header nothing else is read.
 */
export async function* readEntries(
  chunks: AsyncIterable<Buffer>,
  format: ImportFormat,
  today: Day,
): AsyncGenerator<ReadEntry[]> {
  const readLine = format === 'csv' ? createCsvReader() : readJsonLine;
  for await (const lines of readLines(chunks, maxLineBytes)) {
    const entries: ReadEntry[] = [];
    for (const line of lines) {
      const read = readLine(line);
      if (read === 'nothing') continue;
      if ('badHeader' in read) return yield [{ line: line.number, fault: read.badHeader }];
      entries.push(toEntry(line.number, read, today));
    }
    yield entries;
  }
}

function toEntry(line: number, read: { values: LineValues } | { fault: string }, today: Day): ReadEntry {
  const entry = 'values' in read ? parseEntry(read.values, today) : read;
  return 'fault' in entry ? { line, fault: entry.fault } : { line, entry };
}
