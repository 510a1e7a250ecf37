import type { Buffer } from 'node:buffer';
import type { ColumnType } from 'kysely';
import type { Absences } from '../domain/evidence.ts';

/**
 * What happens to a stored instant in the future, after the clock was ahead and has been set back:
 *
 * - `now`: the time of an event or of the next attempt, which is set to now.
 * - `lease`: the end of a lease, which is set to the end of the longest lease from now.
 * - `grace`: the end of a grace period, which is set to the end of the longest one from now.
 * - `version`: an instant after `1:`, which is set to now.
 * - `absences`: the last of several instants, separated by spaces, which is dropped.
 * - `kept`: a time of the marketplace or of a tool, or one that only identifies something. It stays.
 */
export type WhenAhead = 'now' | 'lease' | 'grace' | 'version' | 'absences' | 'kept';

interface ColumnFacts {
  type: 'text' | 'integer' | 'bigint' | 'real' | 'bytes' | 'counter';
  /** Only for a column of instants. */
  ahead?: WhenAhead;
  isFlag?: boolean;
  isNullable?: boolean;
  hasDefault?: boolean;
  /** Returns what an encrypted value is bound to, from the columns of its row. */
  contextOf?(row: object): string;
  /** The column with the digest of an encrypted value, and the text that is digested. */
  digest?: { column: string; textOf(plain: Buffer): string };
}

/** A column. Its values have one type in rows that are read and another in rows that are inserted. */
export class Column<Read, Inserted = Read> {
  declare readonly types: ColumnType<Read, Inserted, Read>;
  readonly facts: ColumnFacts;

  constructor(facts: ColumnFacts) {
    this.facts = facts;
  }

  nullable(): Column<Read | null, Inserted | null | undefined> {
    return new Column({ ...this.facts, isNullable: true });
  }

  /** The database has a value for rows that are inserted without one. */
  optional(): Column<Read, Inserted | undefined> {
    return new Column({ ...this.facts, hasDefault: true });
  }
}

export const text = <T extends string>() => new Column<string extends T ? string : T>({ type: 'text' });
export const integer = () => new Column<number>({ type: 'integer' });
export const bigint = () => new Column<number>({ type: 'bigint' });
export const real = () => new Column<number>({ type: 'real' });
export const bytes = () => new Column<Buffer>({ type: 'bytes' });
/** An encrypted value. An empty one was never encrypted. */
export function sealed<Row extends object>(contextOf: (row: Row) => string, digest?: ColumnFacts['digest']) {
  return new Column<Buffer>({
    type: 'bytes',
    contextOf: contextOf as (row: object) => string,
    ...(digest && { digest }),
  });
}
/** A primary key that counts up and never uses a number twice. */
export const counter = () => new Column<number, number | undefined>({ type: 'counter' });
/** 0 or 1 in the database, a boolean in the program. A column with the name of a flag is a flag in every table. */
export const flag = () => new Column<boolean>({ type: 'integer', isFlag: true });
/** ISO-8601 UTC text. */
export const instant = (ahead: 'now' | 'lease' | 'grace' | 'kept' = 'now') =>
  new Column<string>({ type: 'text', ahead });
export const version = () => new Column<string>({ type: 'text', ahead: 'version' });
export const absences = () => new Column<Absences>({ type: 'text', ahead: 'absences' });

export interface Table<Name extends string = string> {
  /** The primary key. */
  key: Name[];
  columns: Record<Name, Column<unknown>>;
}

export function table<Columns extends Table['columns']>(
  key: Extract<keyof Columns, string>[],
  columns: Columns,
): Omit<Table, 'columns'> & { columns: Columns } {
  return { key, columns };
}
