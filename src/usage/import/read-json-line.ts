import type { Line } from '../../lib/read-lines.ts';
import { describeUnknownColumn, importColumns, type LineValues, type ReadValues, toImportColumn } from './entry.ts';

/** One line of NDJSON: an object, in which null means absent. */
export function readJsonLine(line: Line): ReadValues {
  if ('fault' in line) return line;
  if (line.text.trim() === '') return 'nothing';
  const json = tryParse(line.text);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return { fault: 'is no JSON object' };
  }
  const values: LineValues = {};
  for (const [name, value] of Object.entries(json)) {
    const column = toImportColumn(name);
    if (column === undefined) {
      return { fault: `${describeUnknownColumn(name)} is none of ${importColumns.join(', ')}` };
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
