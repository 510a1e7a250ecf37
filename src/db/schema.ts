import type { ColumnType, Selectable } from 'kysely';
import type { Column, Table } from './columns.ts';
import { evidence } from './schema/evidence.ts';
import { hires } from './schema/hires.ts';
import { installs } from './schema/installs.ts';
import { memberships } from './schema/memberships.ts';
import { messages } from './schema/messages.ts';
import { operation } from './schema/operation.ts';
import { tools } from './schema/tools.ts';
import { usage } from './schema/usage.ts';

/**
 * Every table. The row types, the columns that are cut back after the clock was ahead, the sealed columns and the flags
 * all follow from it. The migrations make the tables. Names are in camel case here and in snake case in the database.
 */
const schema = {
  ...operation,
  ...installs,
  ...hires,
  ...evidence,
  ...memberships,
  ...tools,
  ...usage,
  ...messages,
};

type Schema = typeof schema;

type TypesOf<C> = C extends Column<infer Read, infer Inserted> ? ColumnType<Read, Inserted, Read> : never;

/** The database as Kysely sees it. */
export type Tables = {
  [T in keyof Schema]: { [C in keyof Schema[T]['columns']]: TypesOf<Schema[T]['columns'][C]> };
};

/** A row that is read. */
export type Row<T extends keyof Tables> = Selectable<Tables[T]>;

export const tables: Readonly<Record<string, Table>> = schema;

/** The names of the columns that are flags. */
export const flags: ReadonlySet<string> = new Set(
  Object.values(tables).flatMap(({ columns }) =>
    Object.entries(columns).flatMap(([name, { facts }]) => (facts.isFlag ? [name] : [])),
  ),
);
