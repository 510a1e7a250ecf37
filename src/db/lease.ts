import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import type { Database, Transaction } from './database.ts';
import type { Tables } from './schema.ts';

/**
 * Work is leased: one process at a time has its row, which is free again when the lease has run out. PostgreSQL has
 * several writers, so rows are locked there until the transaction ends. On SQLite the transaction holds the only write
 * lock.
 */

type LeasedTable = {
  [T in keyof Tables]: 'leasedUntil' extends keyof Tables[T] ? T : never;
}[keyof Tables];

/** Whether no worker holds the row. */
export function isFree(table: LeasedTable, now: string): RawBuilder<SqlBool> {
  const leasedUntil = sql.ref(`${table}.leasedUntil`);
  return sql`(${leasedUntil} is null or ${leasedUntil} <= ${now})`;
}

type Dialect = Pick<Database, 'dialect'>;

/** Locks these rows until the transaction ends. */
export function lockRows<DB, TB extends keyof DB, O>(
  { dialect }: Dialect,
  rows: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return dialect === 'postgres' ? rows.forUpdate() : rows;
}

/** Locks those of these rows that no other transaction has locked, to claim some of what is due. */
export function claimRows<DB, TB extends keyof DB, O>(
  { dialect }: Dialect,
  rows: SelectQueryBuilder<DB, TB, O>,
  of?: TB & string,
): SelectQueryBuilder<DB, TB, O> {
  if (dialect !== 'postgres') return rows;
  return (of === undefined ? rows.forUpdate() : rows.forUpdate(of)).skipLocked();
}

/** Other transactions that take a turn of this name wait until this one ends. */
export async function takeTurn({ dialect }: Dialect, tx: Transaction, name: string): Promise<void> {
  if (dialect === 'postgres') await sql`select pg_advisory_xact_lock(hashtext(${name}))`.execute(tx);
}
