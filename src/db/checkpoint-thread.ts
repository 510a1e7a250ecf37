import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';

/**
 * The thread that moves SQLite's log into the database. Whoever commits would do it otherwise, and
 * in a large inbox it takes a tenth of a second: the changed pages lie all over the file.
 */
const everyMs = 2000;
/** So long a log is not going to be moved whole between two commits: writers must wait once. */
const longPages = 20_000;

const sqlite = new SqliteDatabase(workerData as string, { timeout: 100 });
const timer = setInterval(checkpoint, everyMs);

/**
 * The first pass holds nobody up, and mostly it is enough. Under load the second has only what came
 * in during the first, and so little is left for the last, which lets the log begin anew.
 */
function checkpoint(): void {
  if (moveLog('PASSIVE') < longPages) return;
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
