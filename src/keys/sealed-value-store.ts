import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { tables } from '../db/schema.ts';

/** The SQL that reads every sealed value of the database, page by page. */

type Key = readonly (string | number)[];

export interface SealedColumn {
  table: string;
  column: string;
  /** The columns that identify a row, in the order of the pages. */
  key: readonly string[];
  contextOf(row: object): string;
  /** The column with a digest of the value, and the text that it is a digest of. */
  digest: { column: string; textOf(plain: Buffer): string } | undefined;
}

export interface SealedValue {
  key: Key;
  context: string;
  sealed: Buffer;
}

export const sealedColumns: readonly SealedColumn[] = Object.entries(tables).flatMap(
  ([table, { columns, key = ['id'] }]) =>
    Object.entries(columns).flatMap(([column, { facts }]) => {
      const { contextOf, digest } = facts;
      return contextOf === undefined ? [] : [{ table, column, key, contextOf, digest }];
    }),
);

/**
 * An empty value was never sealed. It is a body that was not kept.
 *
 * @param after the key of the last value before; null for the beginning
 */
export async function pageSealedValues(
  tx: Transaction,
  { table, column, key, contextOf }: SealedColumn,
  after: Key | null,
  limit: number,
): Promise<SealedValue[]> {
  const isAfter = after === null ? sql`true` : sql`(${listOf(key)}) > (${sql.join([...after])})`;
  const query = sql<Record<string, string | number | Buffer>>`select * from ${sql.table(table)}
    where octet_length(${sql.ref(column)}) > 0 and ${isAfter} order by ${listOf(key)} limit ${limit}`;
  const { rows } = await query.execute(tx);
  return rows.map((row) => ({
    key: key.map((name) => row[name] as string | number),
    context: contextOf(row),
    sealed: row[column] as Buffer,
  }));
}

export async function replaceSealedValue(
  tx: Transaction,
  { table, column, key, digest }: SealedColumn,
  of: Key,
  renewed: { sealed: Buffer; digest: string | undefined },
): Promise<void> {
  const sets = [sql`${sql.ref(column)} = ${renewed.sealed}`];
  if (digest !== undefined) sets.push(sql`${sql.ref(digest.column)} = ${renewed.digest}`);
  await sql`update ${sql.table(table)} set ${sql.join(sets)}
    where (${listOf(key)}) = (${sql.join([...of])})`.execute(tx);
}

function listOf(columns: readonly string[]) {
  return sql.join(columns.map((column) => sql.ref(column)));
}
