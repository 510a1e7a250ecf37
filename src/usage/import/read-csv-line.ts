import { splitCsvLine } from '../../lib/read-csv.ts';
import type { Line } from '../../lib/read-lines.ts';
import {
  countColumns,
  describeUnknownColumn,
  type ImportColumn,
  importColumns,
  isCountColumn,
  type LineValues,
  type ReadValues,
  toImportColumn,
} from './entry.ts';

/** Reads line after line. The first is the header, which also shows the delimiter. */
export function createCsvReader(): (line: Line) => ReadValues {
  let header: Header | undefined;
  return (line) => {
    if ('fault' in line) return header === undefined ? { badHeader: line.fault } : line;
    // A spreadsheet writes an empty row as delimiters.
    if (/^[\s,;]*$/.test(line.text)) return 'nothing';
    if (header !== undefined) return readRow(line.text, header);
    const read = readHeader(line.text);
    if ('fault' in read) return { badHeader: read.fault };
    header = read;
    return 'nothing';
  };
}

interface Header {
  columns: ImportColumn[];
  delimiter: string;
}

function readHeader(text: string): Header | { fault: string } {
  // No column's name holds either of them.
  const delimiter = text.includes(';') ? ';' : ',';
  const names = splitCsvLine(text, delimiter)?.map((name) => name.trim());
  if (names === undefined) return { fault: 'has invalid quotes' };
  const columns = names.map(toImportColumn);
  const stranger = columns.indexOf(undefined);
  if (stranger !== -1) {
    const named = describeUnknownColumn(names[stranger] ?? '', stranger + 1);
    return { fault: `is the header, but ${named} is not one of ${importColumns.join(', ')}` };
  }
  const known = columns.filter((column) => column !== undefined);
  const twice = known.find((column, index) => known.indexOf(column) !== index);
  if (twice !== undefined) return { fault: `is the header, but has ${twice} twice` };
  const missing = findMissing(known);
  return missing === undefined ? { columns: known, delimiter } : { fault: `is the header, but has no ${missing}` };
}

function findMissing(columns: readonly ImportColumn[]): string | undefined {
  if (!columns.includes('workDate')) return 'workDate';
  if (!columns.includes('contractId') && !columns.includes('externalProjectId')) {
    return 'contractId and no externalProjectId';
  }
  return columns.some(isCountColumn) ? undefined : countColumns.join(' and no ');
}

function readRow(text: string, { columns, delimiter }: Header): ReadValues {
  const fields = splitCsvLine(text, delimiter);
  if (fields === null) return { fault: 'has invalid quotes' };
  if (fields.length !== columns.length) {
    return { fault: `has ${fields.length} columns, but the header has ${columns.length}` };
  }
  const values: LineValues = {};
  for (const [index, column] of columns.entries()) {
    const field = (fields[index] ?? '').trim();
    if (field !== '') values[column] = toValue(column, field);
  }
  return { values };
}

/** A count that is not a number stays text, and parsing finds the fault. */
function toValue(column: ImportColumn, field: string): string | number {
  return isCountColumn(column) && /^-?\d{1,15}$/.test(field) ? Number(field) : field;
}
