import type { Counts, Day } from '../../domain/usage.ts';
import { type Line, readLines, splitCsvLine } from '../../lib/read-csv.ts';

/** This folder imports work from files. Addresses in a file are not stored. */

export interface ImportEntry {
  workedOn: { by: 'contract' | 'project'; id: string };
  /** Null if the line names only the contract. */
  person: NamedPerson | null;
  day: Day;
  counts: Counts;
}

export type NamedPerson = { trainerId: string } | { workEmail: string };

/** A line's entry, or its fault in words without its values. */
export type ReadEntry = { line: number; entry: ImportEntry } | { line: number; fault: string };

const countColumns = ['totalSeconds', 'tasksCompleted', 'labelsCompleted'] as const;

type CountColumn = (typeof countColumns)[number];

const idColumns = ['contractId', 'externalProjectId', 'opentrainUserId', 'workEmail'] as const;

/** In the order of the template. */
const importColumns = ['workDate', ...idColumns, ...countColumns] as const;

type ImportColumn = (typeof importColumns)[number];

type LineValues = Partial<Record<ImportColumn, unknown>>;

function isCountColumn(column: ImportColumn): column is CountColumn {
  return (countColumns as readonly string[]).includes(column);
}

function toImportColumn(name: string): ImportColumn | undefined {
  return importColumns.find((column) => column === name);
}

/** Quotes plain names only: without a header, the name may be an address. */
function describeUnknownColumn(name: string, position?: number): string {
  if (/^[\w -]{1,40}$/.test(name)) return `"${name}"`;
  return position === undefined ? 'one of its names' : `column ${position}`;
}

export type ImportFormat = 'csv' | 'ndjson';

/** `nothing` is an empty line or a valid header. After a bad header, no line can be read. */
type ReadValues = { values: LineValues } | { fault: string } | { badHeader: string } | 'nothing';

const maxLineBytes = 16 * 1024;

/** Reads a file as a stream. Empty lines are skipped; after a bad CSV header, nothing else is read. */
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

/** Reads a line of NDJSON: an object, in which null means absent. */
function readJsonLine(line: Line): ReadValues {
  if ('fault' in line) return line;
  if (line.text.trim() === '') return 'nothing';
  let json: unknown;
  try {
    json = JSON.parse(line.text);
  } catch {
    return { fault: 'is not a JSON object' };
  }
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

/** The first line is the header, which also shows the delimiter. */
function createCsvReader(): (line: Line) => ReadValues {
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
  // No column's name has a delimiter in it.
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

/** An invalid count stays text, whose fault is found later. */
function toValue(column: ImportColumn, field: string): string | number {
  return isCountColumn(column) && /^-?\d{1,15}$/.test(field) ? Number(field) : field;
}

/** Keeps the sum of any file exact. */
const mostOfOne = 1_000_000_000;

const greatest: Record<CountColumn, number> = {
  totalSeconds: 86_400,
  tasksCompleted: mostOfOne,
  labelsCompleted: mostOfOne,
};

/**
 * Parses a line, or says everything that is wrong with it. No value is quoted: it may be an address in a wrong column.
 *
 * @param today today in UTC: work is never sent before its day has begun there
 */
function parseEntry(values: LineValues, today: Day): ImportEntry | { fault: string } {
  const faults = [
    faultOfDay(values.workDate, today),
    ...idColumns.map((column) => faultOfId(column, values[column])),
    ...faultsOfNames(values),
    countColumns.every((column) => values[column] === undefined) && `none of ${countColumns.join(', ')} is given`,
    ...countColumns.map((column) => faultOfCount(column, values[column])),
  ].filter((fault) => fault !== false);
  return faults.length > 0 ? { fault: faults.join('; ') } : toImportEntry(values as CheckedValues);
}

type CheckedValues = { workDate: Day } & Partial<
  Record<(typeof idColumns)[number], string> & Record<CountColumn, number>
>;

function toImportEntry(values: CheckedValues): ImportEntry {
  const { workDate: day, contractId, externalProjectId = '', opentrainUserId: trainerId, workEmail } = values;
  const { totalSeconds: seconds = null, tasksCompleted: tasks = null, labelsCompleted: labels = null } = values;
  const person = workEmail === undefined ? null : { workEmail };
  return {
    day,
    workedOn: contractId === undefined ? { by: 'project', id: externalProjectId } : { by: 'contract', id: contractId },
    person: trainerId === undefined ? person : { trainerId },
    counts: { seconds, tasks, labels },
  };
}

function faultOfDay(day: unknown, today: Day): string | false {
  if (day === undefined) return 'workDate is missing';
  if (typeof day !== 'string' || !isDay(day)) return 'workDate is not a day like 2026-03-15';
  return day > today && 'workDate is in the future';
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // JavaScript reads 30 February as 1 or 2 March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function faultOfId(column: ImportColumn, value: unknown): string | false {
  const isId = value === undefined || (typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,320}$/u.test(value));
  return !isId && `${column} is not text of up to 320 characters`;
}

function faultsOfNames({ contractId, externalProjectId, opentrainUserId, workEmail }: LineValues): (string | false)[] {
  const [hasContract, hasProject] = [contractId !== undefined, externalProjectId !== undefined];
  const [hasTrainer, hasEmail] = [opentrainUserId !== undefined, workEmail !== undefined];
  return [
    hasContract && hasProject && 'contractId and externalProjectId are both given: name one',
    !(hasContract || hasProject) && 'contractId or externalProjectId is missing',
    hasTrainer && hasEmail && 'opentrainUserId and workEmail are both given: name one',
    !hasContract && hasProject && !(hasTrainer || hasEmail) && 'externalProjectId needs opentrainUserId or workEmail',
  ];
}

function faultOfCount(column: CountColumn, value: unknown): string | false {
  if (value === undefined) return false;
  if (typeof value !== 'number' || !Number.isInteger(value)) return `${column} is not a whole number`;
  if (value < 0) return `${column} is negative`;
  return value > greatest[column] && `${column} is more than ${greatest[column]}`;
}

const examples: LineValues[] = [
  {
    workDate: '2026-03-14',
    contractId: 'cmc1a2b3c',
    opentrainUserId: 'cmu4d5e6f',
    totalSeconds: 13_500,
    tasksCompleted: 120,
    labelsCompleted: 480,
  },
  {
    workDate: '2026-03-15',
    externalProjectId: 'street-signs',
    workEmail: 'amara.o@opentrain.work',
    totalSeconds: 7200,
    tasksCompleted: 64,
  },
];

/** A file with all columns and two lines, one by contract and one by project. */
export function toTemplate(format: ImportFormat): string {
  if (format === 'ndjson') return examples.map((example) => JSON.stringify(example)).join('\n');
  const lines = examples.map((example) => importColumns.map((column) => example[column] ?? ''));
  return [importColumns, ...lines].map((fields) => fields.join(',')).join('\n');
}
