import type { Day } from '../../domain/usage.ts';
import { type Line, readLines } from '../../lib/read-lines.ts';
import {
  describeUnknownColumn,
  type ImportFormat,
  importColumns,
  type LineValues,
  type ReadEntry,
  type ReadValues,
  toImportColumn,
} from './entry.ts';
import { parseEntry } from './parse-entry.ts';
import { createCsvReader } from './read-csv-line.ts';

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

/** One line of NDJSON: an object, in which null means absent. */
function readJsonLine(line: Line): ReadValues {
  if ('fault' in line) return line;
  if (line.text.trim() === '') return 'nothing';
  const json = tryParse(line.text);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return { fault: 'is not a JSON object' };
  const values: LineValues = {};
  for (const [name, value] of Object.entries(json)) {
    const column = toImportColumn(name);
    if (column === undefined) {
      return { fault: `${describeUnknownColumn(name)} is not one of ${importColumns.join(', ')}` };
    }
    if (value !== null) values[column] = value;
  }
  return { values };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
