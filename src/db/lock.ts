import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type RawBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely';
import { AppError } from '../domain/errors.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { jsonRows } from './query.ts';
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

/**
 * A named lock, which one instance or command holds at a time. It outlives a transaction but not its holder: it is leased,
 * and another process may take it when the lease has run out.
 */
export interface Hold {
  /**
   * Renews the lease. Call it before each request to another system.
   *
   * @throws AppError `unavailable` if it was held too long and another process has it now
   */
  renew(): Promise<void>;
}

interface LockOptions {
  name: string;
  /** What only the holder does, for errors. */
  what: string;
  leaseMs: number;
}

interface HoldOptions extends LockOptions {
  /** How long to wait for another process. */
  patienceMs: number;
  signal: AbortSignal;
}

const retryEveryMs = 200;

/** @returns null if another process still has it when the patience ends */
export async function withLock<T>(
  ctx: { database: Database; clock: Clock },
  { patienceMs, signal, ...options }: HoldOptions,
  work: (hold: Hold) => Promise<T>,
): Promise<T | null> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const lock = await takeLock(ctx, options);
    if (lock !== null) return await work(lock).finally(lock.release);
    if (signal.aborted || performance.now() >= deadline) return null;
    await wait(retryEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

interface Lock extends Hold {
  /** Renews the lease as `renew` does. @returns false if another process has the lock now */
  keeps(): Promise<boolean>;
  release(): Promise<void>;
}

/** @returns null if another process has it */
export async function takeLock(
  { database, clock }: { database: Database; clock: Clock },
  { name, what, leaseMs }: LockOptions,
): Promise<Lock | null> {
  const token = randomUUID();
  const take = () => holdLock(database, name, token, toInstant(clock.now()), instantIn(clock, leaseMs));
  if (!(await take())) return null;
  return {
    keeps: take,
    async renew() {
      if (await take()) return;
      throw new AppError('unavailable', `${what} was held for too long, and another process holds it now`);
    },
    release: () => releaseLock(database, name, token),
  };
}

/** Takes or renews the lock. @returns false while another holder has it */
export async function holdLock(
  database: Database,
  name: string,
  token: string,
  now: string,
  leasedUntil: string,
): Promise<boolean> {
  return (await holdLocks(database, [name], token, now, leasedUntil)).has(name);
}

export async function releaseLock(database: Database, name: string, token: string): Promise<void> {
  await releaseLocks(database, [name], token);
}

/** Takes or renews several locks. @returns the names of those that are held now */
export async function holdLocks(
  database: Database,
  names: readonly string[],
  token: string,
  now: string,
  leasedUntil: string,
): Promise<Set<string>> {
  // Sorted, so that two holders that want the same locks cannot deadlock.
  const rows = jsonRows(
    database,
    [...new Set(names)].sort().map((name) => [name, token, leasedUntil]),
  );
  const held = await inTransaction(database, (tx) =>
    sql<{ name: string }>`insert into named_lock (name, token, leased_until)
          select value ->> 0, value ->> 1, value ->> 2 from ${rows} as given
          where true on conflict (name) do update
          set token = excluded.token, leased_until = excluded.leased_until
          where named_lock.token = ${token} or named_lock.leased_until <= ${now}
          returning name`.execute(tx),
  );
  return new Set(held.rows.map(({ name }) => name));
}

export async function releaseLocks(database: Database, names: readonly string[], token: string): Promise<void> {
  await inTransaction(database, (tx) =>
    tx.deleteFrom('namedLock').where('name', 'in', names).where('token', '=', token).execute(),
  );
}
