import type { Counts, Day } from '../../domain/usage.ts';

/**
 * This folder imports work that was counted elsewhere, from a file. The lines are written in chunks, and one small
 * transaction makes all of them count. Addresses are not stored.
 */

/** One line of a file: who did how much, on what, and when. */
export interface ImportEntry {
  workedOn: NamedWork;
  /** Null where the contract alone says whose work it is. */
  person: NamedPerson | null;
  day: Day;
  counts: Counts;
}

export interface NamedWork {
  by: 'contract' | 'project';
  id: string;
}

export type NamedPerson = { trainerId: string } | { workEmail: string };

/** What a line says, or its fault, in words for people and without its values. */
export type ReadEntry = { line: number; entry: ImportEntry } | { line: number; fault: string };

export const countColumns = ['totalSeconds', 'tasksCompleted', 'labelsCompleted'] as const;

export type CountColumn = (typeof countColumns)[number];

export const idColumns = ['contractId', 'externalProjectId', 'opentrainUserId', 'workEmail'] as const;

/** In the order of the template. */
export const importColumns = ['workDate', ...idColumns, ...countColumns] as const;

export type ImportColumn = (typeof importColumns)[number];

/** The values of a line by column, without empty ones. */
export type LineValues = Partial<Record<ImportColumn, unknown>>;

export function isCountColumn(column: ImportColumn): column is CountColumn {
  return (countColumns as readonly string[]).includes(column);
}

export function toImportColumn(name: string): ImportColumn | undefined {
  return importColumns.find((column) => column === name);
}

/** Quotes a plain name only: in a file without a header the name may be an address. */
export function describeUnknownColumn(name: string, position?: number): string {
  if (/^[\w -]{1,40}$/.test(name)) return `"${name}"`;
  return position === undefined ? 'one of its names' : `column ${position}`;
}

export const importFormats = ['csv', 'ndjson'] as const;

export type ImportFormat = (typeof importFormats)[number];

/**
 * What one line holds: `nothing` for an empty line, and for a correct header. After a bad header no other line can be
 * read.
 */
export type ReadValues = { values: LineValues } | { fault: string } | { badHeader: string } | 'nothing';

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

/** A file to start from: all columns and two lines, one by contract and one by project. */
export function toTemplate(format: ImportFormat): string {
  if (format === 'ndjson') return examples.map((example) => JSON.stringify(example)).join('\n');
  const lines = examples.map((example) => importColumns.map((column) => example[column] ?? ''));
  return [importColumns, ...lines].map((fields) => fields.join(',')).join('\n');
}
