import { existsSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { sql } from 'kysely';
import { AppError } from '../domain/errors.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { tables } from './schema.ts';
import { createPrivately, sqliteFileOf } from './sqlite-database.ts';

/**
 * A lock on a file beside the SQLite database. Every process that leases anything holds it, shared with
 * the others, and the system releases it when the process ends in any way. A process that gets it
 * exclusively knows that no other process lives, so that every lease belongs to a dead process.
 */
export interface AliveLock {
  /** Holds it as long as this process lives. Call it before anything is leased. */
  hold(): Promise<void>;
  /** Holds it exclusively. @returns false if another process lives; PostgreSQL has no such lock */
  holdAlone(): boolean;
  release(): void;
}

/** How long to wait for a process that has it exclusively for a moment. */
const patienceMs = 10_000;

interface AliveLockDeps {
  database: Database;
  clock: Clock;
  /** The tools whose calls end with their process. */
  localTools: readonly string[];
}

export function createAliveLock({ database, clock, localTools }: AliveLockDeps): AliveLock {
  const file = database.dialect === 'sqlite' ? sqliteFileOf(database.url) : undefined;
  let lock: SqliteDatabase.Database | undefined;
  return {
    async hold() {
      if (file === undefined) return;
      lock = openLock(file);
      if (takeAlone(lock)) {
        const now = toInstant(clock.now());
        if (await hasLeases(database.kysely, now))
          await inTransaction(database, (tx) => voidLeases(tx, now, localTools));
        lock.exec('commit');
      }
      lock.pragma(`busy_timeout = ${patienceMs}`);
      readLocked(lock);
    },
    holdAlone() {
      if (file === undefined) return true;
      lock = openLock(file);
      return takeAlone(lock);
    },
    release() {
      lock?.close();
    },
  };
}

/** A process that has the lock must not open the file a second time: closing that would release the lock. */
function openLock(databaseFile: string): SqliteDatabase.Database {
  const aliveFile = `${databaseFile}-alive`;
  if (!existsSync(aliveFile)) createPrivately(aliveFile);
  return new SqliteDatabase(aliveFile, { timeout: 0 });
}

/** A read in a transaction locks the file until the transaction ends. */
function readLocked(lock: SqliteDatabase.Database): void {
  try {
    lock.exec('begin; select count(*) from sqlite_schema');
  } catch (error) {
    if (!isBusy(error)) throw error;
    const says = 'Another process has the database to itself, such as "gangway key rotate": wait until it has ended';
    throw new AppError('unavailable', says, { cause: error });
  }
}

function takeAlone(lock: SqliteDatabase.Database): boolean {
  try {
    lock.exec('begin exclusive');
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return (error as { code?: string }).code === 'SQLITE_BUSY';
}

/** The SQL that ends the leases of dead processes. */

const leased = Object.keys(tables).filter((table) => tables[table]?.columns['leasedUntil'] !== undefined);

async function hasLeases(db: Transaction, now: string): Promise<boolean> {
  for (const table of leased) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where leased_until > ${now} limit 1`.execute(db);
    if (rows.length > 0) return true;
  }
  return false;
}

/**
 * Ends all leases. One under which a call to a tool may be under way ends when the call can no longer arrive: such a
 * call outlives its process, and no look may be made before.
 *
 * @param localTools whose calls end with their process
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

/** A call without a known result can arrive until `late_until`. A new lease may be longer than that. */
function arrivedBy(now: string) {
  return sql`case when late_until >= leased_until then leased_until
    when late_until > ${now} then late_until else ${now} end`;
}
