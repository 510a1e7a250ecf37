import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import SqliteDatabase from 'better-sqlite3';
import { type Clock, toInstant } from '../lib/clock.ts';
import { type Database, inTransaction } from './database.ts';
import { createPrivately, sqliteFileOf } from './sqlite-database.ts';
import { hasLeases, voidLeases } from './void-lease-store.ts';

/**
 * A lock on a file beside the SQLite database. Every process that leases anything holds it, shared with
 * the others, and the system releases it when the process ends in any way. A process that gets it
 * exclusively knows that no other process lives, so that every lease belongs to a dead process.
 */
export interface AliveLock {
  /** Holds it as long as this process lives. Call it before anything is leased. */
  hold(): Promise<void>;
  release(): void;
}

/** How long to wait for a process that has it exclusively for a moment. */
const patienceMs = 10_000;
const probeMs = 5000;
const probeFile = new URL(`./alive-probe${extname(import.meta.url)}`, import.meta.url);

interface AliveLockDeps {
  database: Database;
  clock: Clock;
  /** The tools whose calls end with their process. */
  localTools: readonly string[];
  /** Whether other processes see the lock; if not, leases run out by themselves. */
  isSeen?: (aliveFile: string) => Promise<boolean>;
}

export function createAliveLock({ database, clock, localTools, isSeen = isSeenByOthers }: AliveLockDeps): AliveLock {
  const file = database.dialect === 'sqlite' ? sqliteFileOf(database.url) : undefined;
  let lock: SqliteDatabase.Database | undefined;
  return {
    async hold() {
      if (file === undefined) return;
      const aliveFile = `${file}-alive`;
      // A process that has the lock must not open the file otherwise, because closing it releases the lock.
      if (!existsSync(aliveFile)) createPrivately(aliveFile);
      lock = new SqliteDatabase(aliveFile, { timeout: 0 });
      const isAlone = takeAlone(lock);
      if (isAlone) await freeDead({ database, clock, localTools, isSeen }, aliveFile);
      if (isAlone) lock.exec('commit');
      lock.pragma(`busy_timeout = ${patienceMs}`);
      // A read in a transaction locks the file until the transaction ends.
      lock.exec('begin; select count(*) from sqlite_schema');
    },
    release() {
      lock?.close();
    },
  };
}

function takeAlone(lock: SqliteDatabase.Database): boolean {
  try {
    lock.exec('begin exclusive');
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false;
    throw error;
  }
}

async function freeDead(
  { database, clock, localTools, isSeen }: Required<AliveLockDeps>,
  aliveFile: string,
): Promise<void> {
  const now = toInstant(clock.now());
  if (!(await hasLeases(database.kysely, now))) return;
  // On some network file systems locks have no effect.
  if (!(await isSeen(aliveFile))) return;
  await inTransaction(database, (tx) => voidLeases(tx, now, localTools));
}

/** Asks another process, because a lock never stops the process that has it. */
async function isSeenByOthers(aliveFile: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const args = [fileURLToPath(probeFile), aliveFile];
    execFile(process.execPath, args, { timeout: probeMs }, (error, stdout) => {
      resolve(error === null && stdout.trim() === 'locked');
    });
  });
}
