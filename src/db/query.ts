import {
  type DeleteResult,
  type Insertable,
  type JoinBuilder,
  type RawBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
  type UpdateResult,
} from 'kysely';
import { instantAfter } from '../lib/clock.ts';
import { chunksOf } from '../lib/lists.ts';
import type { Database, Transaction } from './database.ts';
import type { Tables } from './schema.ts';

/** Counts the rows of a query without columns. */
export async function countRows<DB, TB extends keyof DB>(query: SelectQueryBuilder<DB, TB, object>): Promise<number> {
  const row = await query.select((eb) => eb.fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  return (row as { n: number }).n;
}

/** Whether a query without columns has any row. */
export async function hasRows<DB, TB extends keyof DB>(query: SelectQueryBuilder<DB, TB, object>): Promise<boolean> {
  return (await query.select(sql`1`.as('one')).limit(1).executeTakeFirst()) !== undefined;
}

/** Whether a statement about one row has changed it. */
export async function hasChanged(statement: {
  executeTakeFirst(): Promise<UpdateResult | DeleteResult>;
}): Promise<boolean> {
  const result = await statement.executeTakeFirst();
  return ('numUpdatedRows' in result ? result.numUpdatedRows : result.numDeletedRows) === 1n;
}

/** A filter for `eb.and`, without what is undefined. */
export function given<T extends object>(filter: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as object;
}

/** How many rows one statement names at most, so that both databases accept its parameters. */
const keysAtOnce = 1000;

/** `(a, b) in (values (…), (…))` */
export function keyIn(key: readonly string[], rows: readonly object[], of?: string): RawBuilder<boolean> {
  const refs = key.map((column) => sql.ref(of === undefined ? column : `${of}.${column}`));
  const values = rows.map((row) => {
    const fields = row as Readonly<Record<string, unknown>>;
    return sql`(${sql.join(key.map((column) => fields[column]))})`;
  });
  return sql`(${sql.join(refs)}) in (values ${sql.join(values)})`;
}

/** The rows in parts, each small enough for one statement. */
export function inParts<T>(rows: readonly T[]): T[][] {
  return chunksOf(rows, keysAtOnce);
}

/**
 * Rows in one JSON parameter, whose columns are `value ->> 0`, `value ->> 1` and so on. Lists of every length use the same
 * statement.
 */
export function jsonRows(
  { dialect }: Pick<Database, 'dialect'>,
  list: readonly (readonly (string | number | null)[])[],
): RawBuilder<unknown> {
  const text = JSON.stringify(list);
  return dialect === 'sqlite' ? sql`json_each(${text})` : sql`json_array_elements(cast(${text} as json))`;
}

/** Ids for a condition with `in`, as many as there are. */
export function jsonIds(database: Pick<Database, 'dialect'>, ids: readonly number[]): RawBuilder<number> {
  const rows = ids.map((id) => [id]);
  return sql<number>`(select cast(value ->> 0 as bigint) from ${jsonRows(database, rows)} as given)`;
}

/** Texts for a condition with `in`, as many as there are. */
export function jsonTexts(database: Pick<Database, 'dialect'>, texts: readonly string[]): RawBuilder<string> {
  const rows = texts.map((text) => [text]);
  return sql<string>`(select value ->> 0 from ${jsonRows(database, rows)} as given)`;
}

/** Joins two tables on these columns, which both have. */
export function onSame<A extends keyof Tables, B extends keyof Tables>(
  table: A,
  other: B,
  columns: readonly (keyof Tables[A] & keyof Tables[B] & string)[],
) {
  const pairs = columns.map((column) => sql`${sql.ref(`${table}.${column}`)} = ${sql.ref(`${other}.${column}`)}`);
  return <DB, TB extends keyof DB>(join: JoinBuilder<DB, TB>) => join.on(sql<SqlBool>`${sql.join(pairs, sql` and `)}`);
}

/** For `doUpdateSet`: takes these columns from the row that could not be inserted. */
export function toExcluded(columns: readonly string[]): Record<string, RawBuilder<never>> {
  return Object.fromEntries(columns.map((column) => [column, sql.ref<never>(`excluded.${column}`)]));
}

/** Inserts rows, or replaces those that are stored under their keys. */
export async function upsert<T extends keyof Tables & string>(
  tx: Transaction,
  table: T,
  key: readonly (keyof Tables[T] & string)[],
  rows: readonly Insertable<Tables[T]>[],
): Promise<void> {
  const changed = toExcluded(Object.keys(rows[0] ?? {}).filter((name) => !key.some((column) => column === name)));
  for (const part of inParts(rows)) {
    // Safe, because the types of the arguments say the same. Kysely cannot follow a table that is a parameter.
    const insert = tx.insertInto(table as keyof Tables).values(part as never);
    await insert.onConflict((conflict) => conflict.columns(key as never).doUpdateSet(changed as never)).execute();
  }
}

const all = sql<boolean>`true`;

/**
 * The installs that have rows in a table. It skips from install to install in the index, so it does not read all rows.
 *
 * @param which a condition for the rows
 * @param has a condition for `turn.install`
 */
export async function installsIn(
  db: Transaction,
  table: keyof Tables,
  { which = all, has = all }: { which?: RawBuilder<boolean>; has?: RawBuilder<boolean> } = {},
): Promise<string[]> {
  const first = sql`select min(install) from ${sql.table(table)} where ${which}`;
  const { rows } = await sql<{ install: string }>`
    with recursive turn (install) as (
      ${first}
      union all
      select (${first} and install > turn.install) from turn where turn.install is not null
    )
    select install from turn where install is not null and ${has}`.execute(db);
  return rows.map(({ install }) => install);
}

/** Where clocks differ or commits overtake each other, ids and times are not quite in the same order. */
const disorderMs = 60_000;

/**
 * An id such that every row since an instant has this id or a greater one. Ids grow with time, so bisection finds it. These
 * tables have millions of rows and no index by time.
 */
export async function firstIdSince(
  kysely: Database['kysely'],
  table: TimedTable,
  column: string,
  since: string,
): Promise<number> {
  return await bisect(kysely, table, column, instantAfter(since, -disorderMs));
}

/** An id such that every row up to an instant has a smaller one. */
export async function firstIdBeyond(
  kysely: Database['kysely'],
  table: TimedTable,
  column: string,
  until: string,
): Promise<number> {
  return await bisect(kysely, table, column, instantAfter(until, disorderMs + 1));
}

type TimedTable = 'delivery' | 'receipt' | 'removal';

async function bisect(kysely: Database['kysely'], table: TimedTable, column: string, margin: string): Promise<number> {
  const { rows } = await bisection(table, column, margin).execute(kysely);
  return Number(rows[0]?.first);
}

/**
 * All steps in one statement, instead of one round trip each. Every row up to `older` is too old, and no row from `young`
 * on is.
 */
export function bisection(table: TimedTable, column: string, margin: string) {
  const from = sql.table(table);
  const at = sql.ref(`probe.${column}`);
  return sql<{ first: number }>`
    with recursive bisection (older, young) as (
      select coalesce((select min(id) from ${from}), 1) - 1, coalesce((select max(id) from ${from}), 0) + 1
      union all
      select case when ${at} < ${margin} then probe.id else older end,
        case when ${at} < ${margin} then young else (older + young) / 2 end
      from bisection join ${from} as probe
        on probe.id = (select id from ${from} where id >= (older + young) / 2 order by id limit 1)
      where young - older > 1)
    select min(young) as first from bisection`;
}
