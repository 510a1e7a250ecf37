/** How people see an answer: as text, as a table, or as bytes. */
export type Show<Out> = ((answer: Out) => string) | TableShow<Out> | RawShow<Out>;

export interface TableShow<Out> {
  rowsOf: (answer: Out) => readonly object[];
  columns: Columns<object>;
  whenEmpty: string;
}

/** Only the command shows bytes; the API answers in JSON. */
interface RawShow<Out> {
  bytes(answer: Out): Uint8Array;
}

export type Cell = string | number | null | undefined;

export type Columns<Row> = readonly Column<Row>[];

export type Column<Row> = readonly [title: string, cell: (row: Row) => Cell, options?: ColumnOptions<Row>];

export interface ColumnOptions<Row> {
  align?: 'left' | 'right';
  /**
   * `age`: the cell is an instant, shown as the time since then or until then. `state`: the cell is a word of a closed
   * set, shown as a badge in the console and in colour on a terminal. A CSV file has the cell itself.
   */
  as?: 'age' | 'state';
  /** The console shows it in small print beneath the cell before. */
  isBeneath?: true;
  /** The page of the console that the cell links to. */
  to?(row: Row): string | null | undefined;
}

/** A column for each of these fields, named like the field. */
export function fieldColumns<Field extends string>(...fields: Field[]): Columns<Record<Field, Cell>> {
  return fields.map((field) => [field, (row) => row[field]]);
}

/** The same for fields that are numbers. */
export function numberColumns<Field extends string>(...fields: Field[]): Columns<Record<Field, number>> {
  return fields.map((field) => [field, (row) => row[field], { align: 'right' }]);
}

export function table<Row extends object>(columns: Columns<Row>, whenEmpty: string): TableShow<{ items: Row[] }>;
export function table<Row extends object, Rows extends string>(
  columns: Columns<Row>,
  whenEmpty: string,
  rows: Rows,
): TableShow<Record<Rows, Row[]>>;
/** @param rows the field of the answer that has the rows */
export function table(
  columns: Columns<never>,
  whenEmpty: string,
  rows = 'items',
): TableShow<Record<string, readonly object[]>> {
  return { rowsOf: (answer) => answer[rows] ?? [], columns: columns as Columns<object>, whenEmpty };
}

/** One line for each field. */
export function record(answer: object): string {
  const fields = Object.entries(answer);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)} ${sayValue(value)}`).join('\n');
}

function sayValue(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The used part of a budget. Only a budget that is used up is 100 %. */
export function sayPercent(fraction: number | null): string {
  // 0.29 * 100 is a little less than 29.
  return fraction === null ? '' : `${Math.floor(fraction * 100 + 1e-6)} %`;
}

// Pages of the console.

export function trainerPath(trainerId: string): string {
  return `/trainers/${encodeURIComponent(trainerId)}`;
}

export function contractPath(contractId: string): string {
  return `/contracts/${encodeURIComponent(contractId)}`;
}

/** Of a job that was drafted here. */
export function jobPath({ install, jobId }: { install: string; jobId: string }): string {
  return `/hires/jobs/${encodeURIComponent(jobId)}?${new URLSearchParams({ install })}`;
}

export function membershipPath(membershipId: number): string {
  return `/memberships/${membershipId}`;
}

export function installPath(install: string): string {
  return `/installs/${encodeURIComponent(install)}`;
}
