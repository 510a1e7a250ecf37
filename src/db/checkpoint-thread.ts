import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';

/**
 * The thread that moves SQLite's log into the database. Whoever commits would do it otherwise, and
 * in a large inbox it takes a tenth of a second: the changed pages lie all over the file.
 */
const everyMs = 1000;
/** Below this many pages it is not worth a write. */
const enoughPages = 1000;

const sqlite = new SqliteDatabase(workerData as string, { timeout: 100 });
const timer = setInterval(checkpoint, everyMs);

/**
 * The first pass holds nobody up, and the second has only what came in during the first. So little
 * is left for the last, which makes writers wait until the log begins anew.
 */
function checkpoint(): void {
  if (moveLog('PASSIVE') < enoughPages) return;
  moveLog('PASSIVE');
  moveLog('RESTART');
}

/** @returns how many pages the log had */
function moveLog(mode: 'PASSIVE' | 'RESTART'): number {
  const [result] = sqlite.pragma(`wal_checkpoint(${mode})`) as { log: number }[];
  return result?.log ?? 0;
}

parentPort?.once('message', () => {
  clearInterval(timer);
  sqlite.close();
  parentPort?.close();
});
