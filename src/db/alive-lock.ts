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
 * A lock on a file beside SQLite's, which everybody who leases anything holds together with the
 * others, and which the system lets go of with its process, however that ends. Who has it alone has
 * the proof that nobody else lives, and that what is leased is a dead process's.
 */
export interface AliveLock {
  /** For as long as this process works; to be done before anything is leased. */
  hold(): Promise<void>;
  release(): void;
}

/** Whoever has it alone has it for a moment. */
const patienceMs = 10_000;
const probeMs = 5000;
const probeFile = new URL(`./alive-probe${extname(import.meta.url)}`, import.meta.url);

/** @param isSeen whether it keeps out another process: where it does not, leases run out by themselves */
export function createAliveLock(database: Database, clock: Clock, isSeen = isSeenByOthers): AliveLock {
  const file = database.dialect === 'sqlite' ? sqliteFileOf(database.url) : undefined;
  let lock: SqliteDatabase.Database | undefined;
  return {
    async hold() {
      if (file === undefined) return;
      const aliveFile = `${file}-alive`;
      // Opened as a file by nobody who has the lock: to close it would let go of that.
      if (!existsSync(aliveFile)) createPrivately(aliveFile);
      lock = new SqliteDatabase(aliveFile, { timeout: 0 });
      const isAlone = takeAlone(lock);
      if (isAlone) await freeDead(database, aliveFile, toInstant(clock.now()), isSeen);
      if (isAlone) lock.exec('commit');
      lock.pragma(`busy_timeout = ${patienceMs}`);
      // What was read in a transaction stays locked until its end.
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
  database: Database,
  aliveFile: string,
  now: string,
  isSeen: typeof isSeenByOthers,
): Promise<void> {
  if (!(await hasLeases(database.kysely, now))) return;
  // On some network file systems no lock keeps anybody out.
  if (!(await isSeen(aliveFile))) return;
  await inTransaction(database, (tx) => voidLeases(tx, now));
}

/** Asks another process, as one process is never kept out by itself. */
async function isSeenByOthers(aliveFile: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const args = [fileURLToPath(probeFile), aliveFile];
    execFile(process.execPath, args, { timeout: probeMs }, (error, stdout) => {
      resolve(error === null && stdout.trim() === 'locked');
    });
  });
}
