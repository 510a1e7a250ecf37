import { existsSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { sql } from 'kysely';
import { AppError } from '../domain/errors.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { tables } from './schema.ts';
import { createPrivately, sqliteFileOf } from './sqlite-database.ts';

/** How long to wait for a process that holds the lock exclusively for a moment. */
const patienceMs = 10_000;

export type AliveLock = ReturnType<typeof createAliveLock>;

/**
 * A lock on a file beside the SQLite database. Every process that leases anything shares it, and the system releases it
 * when the process ends in any way. A process that gets it exclusively knows that no other process runs, so every lease
 * belongs to a dead process. Only one bridge gets it beside commands. PostgreSQL has no such lock.
 *
 * @param localTools the tools whose calls end with their process
 */
export function createAliveLock(database: Database, clock: Clock, localTools: readonly string[]) {
  const file = database.dialect === 'sqlite' ? sqliteFileOf(database.url) : undefined;
  let lock: SqliteDatabase.Database | undefined;
  return {
    /**
     * Holds it until this process ends. Call it before anything is leased.
     *
     * @throws AppError `conflict` for a bridge beside another one
     */
    async hold(as: 'bridge' | 'command'): Promise<void> {
      if (file === undefined) return;
      lock = openLock(file);
      if (takeAlone(lock)) {
        const now = toInstant(clock.now());
        if (await hasLeases(database.kysely, now))
          await inTransaction(database, (tx) => voidLeases(tx, now, localTools));
        lock.exec('commit');
      }
      lockBeside(lock, as);
    },
    /** Holds it exclusively. @returns false if another process runs */
    holdAlone(): boolean {
      if (file === undefined) return true;
      lock = openLock(file);
      return takeAlone(lock);
    },
    release(): void {
      lock?.close();
    },
  };
}

/** Called once in a process: closing a second handle of the file would release the lock. */
function openLock(databaseFile: string): SqliteDatabase.Database {
  const aliveFile = `${databaseFile}-alive`;
  if (!existsSync(aliveFile)) createPrivately(aliveFile);
  return new SqliteDatabase(aliveFile, { timeout: 0 });
}

/** A file of SQLite has any number of readers, and beside them one process that may write next. A bridge is that one. */
function lockBeside(lock: SqliteDatabase.Database, as: 'bridge' | 'command'): void {
  lock.pragma(`busy_timeout = ${patienceMs}`);
  if (!tryLock(lock, 'begin; select count(*) from sqlite_schema')) {
    const says =
      'Another process, such as "gangway key rotate", is using the database alone: wait until it has finished';
    throw new AppError('unavailable', says);
  }
  if (as === 'command') return;
  lock.exec('commit');
  lock.pragma('busy_timeout = 0');
  if (!tryLock(lock, 'begin immediate')) {
    const says = 'Gangway already runs on this SQLite database: stop it first. Several instances need PostgreSQL';
    throw new AppError('conflict', says);
  }
}

function takeAlone(lock: SqliteDatabase.Database): boolean {
  return tryLock(lock, 'begin exclusive');
}

function tryLock(lock: SqliteDatabase.Database, sql: string): boolean {
  try {
    lock.exec(sql);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false;
    throw error;
  }
}

const leased = Object.keys(tables).filter((table) => tables[table]?.columns['leasedUntil'] !== undefined);

async function hasLeases(db: Transaction, now: string): Promise<boolean> {
  for (const table of leased) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where leased_until > ${now} limit 1`.execute(db);
    if (rows.length > 0) return true;
  }
  return false;
}

/**
 * Ends the leases of dead processes. A call to a tool may arrive after its process has died, so the lease of a membership
 * ends only when such a call can no longer arrive: nobody may look in the tool before.
 *
 * @param localTools the tools whose calls end with their process
 */
export async function voidLeases(tx: Transaction, now: string, localTools: readonly string[] = []): Promise<void> {
  if (localTools.length > 0) {
    await sql`update membership set leased_until = ${now},
      late_until = case when late_until > ${now} then ${now} else late_until end
      where leased_until > ${now} and tool in (${sql.join(localTools)})`.execute(tx);
  }
  for (const table of leased) {
    const endsAt = table === 'membership' ? arrivedBy(now) : now;
    await sql`update ${sql.table(table)} set leased_until = ${endsAt} where leased_until > ${now}`.execute(tx);
  }
}

/** A call with an unknown outcome can arrive until `late_until`, which may be before the end of the lease. */
function arrivedBy(now: string) {
  return sql`case when late_until >= leased_until then leased_until
    when late_until > ${now} then late_until else ${now} end`;
}
