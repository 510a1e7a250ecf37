import type { Buffer } from 'node:buffer';
import type { ColumnType, RawBuilder } from 'kysely';
import type { Absences } from '../domain/evidence.ts';

/**
 * What happens to a stored instant that lies in the future after the clock was ahead:
 *
 * - `now`: it is when something happened, or when to try again, and is set to now.
 * - `lease`: it is until when something is leased, and is set to the end of the longest lease.
 * - `grace`: it is until when access is kept, and is set to the longest grace period from now.
 * - `version`: it follows `1:`, and is set to now.
 * - `absences`: it is the last of several, separated by spaces, and is dropped.
 * - `kept`: it is a time of the marketplace or of a tool, or only identifies something.
 */
export type WhenAhead = 'now' | 'lease' | 'grace' | 'version' | 'absences' | 'kept';

interface ColumnFacts {
  type: 'text' | 'integer' | 'bigint' | 'real' | 'bytes' | 'counter';
  /** Only of a column with instants. */
  ahead?: WhenAhead;
  isFlag?: boolean;
  isNullable?: boolean;
  isUnique?: boolean;
  default?: string | number;
  /** The table whose `id` it refers to. */
  references?: string;
  /** What an encrypted value is bound to, by the columns of its row. */
  contextOf?(row: object): string;
  /** The column that has the digest of an encrypted value, and the text of which it is the digest. */
  digest?: { column: string; textOf(plain: Buffer): string };
}

/** A column, with the types of its values in rows that are read and in rows that are inserted. */
export class Column<Read, Inserted = Read> {
  declare readonly types: ColumnType<Read, Inserted, Read>;
  readonly facts: ColumnFacts;

  constructor(facts: ColumnFacts) {
    this.facts = facts;
  }

  nullable(): Column<Read | null, Inserted | null | undefined> {
    return new Column({ ...this.facts, isNullable: true });
  }

  /** A row that is inserted without it gets `value`. */
  default(value: Read & (string | number | boolean)): Column<Read, Inserted | undefined> {
    return new Column({ ...this.facts, default: typeof value === 'boolean' ? Number(value) : value });
  }

  references(table: string): Column<Read, Inserted> {
    return new Column({ ...this.facts, references: table });
  }

  unique(): Column<Read, Inserted> {
    return new Column({ ...this.facts, isUnique: true });
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
/** The primary key. It counts up, and no value is used twice. */
export const counter = () => new Column<number, number | undefined>({ type: 'counter' });
/** 0 or 1 in the database, and a boolean in the program. A column of this name is a flag in every table. */
export const flag = () => new Column<boolean>({ type: 'integer', isFlag: true });
/** ISO-8601 UTC text. */
export const instant = (ahead: 'now' | 'lease' | 'grace' | 'kept' = 'now') =>
  new Column<string>({ type: 'text', ahead });
export const version = () => new Column<string>({ type: 'text', ahead: 'version' });
export const absences = () => new Column<Absences>({ type: 'text', ahead: 'absences' });

interface Index<Name> {
  on: (Name | RawBuilder<unknown>)[];
  isUnique?: boolean;
  /** A condition in SQL. */
  where?: string;
}

/** A table, whose columns have these names. */
export interface Table<Name extends string = string> {
  columns: Record<Name, Column<unknown>>;
  /** The primary key, where it is no counter. */
  key?: Name[];
  unique?: Name[];
  /** By the end of their names, which begin with the name of the table. */
  indexes?: Record<string, Index<Name> | Index<Name>['on']>;
  withoutRowid?: boolean;
}

export function table<Columns extends Table['columns']>(
  columns: Columns,
  facts: Omit<Table<Extract<keyof Columns, string>>, 'columns'> = {},
): Omit<Table, 'columns'> & { columns: Columns } {
  return { columns, ...facts };
}
