import { statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';

/**
 * The thread that moves SQLite's log into the database file. Otherwise a commit would do it, and with
 * a large inbox that takes a tenth of a second, because the changed pages are all over the file. The
 * thread ends when hardly anything is written.
 */
const everyMs = 2000;
/** After a minute with as few new pages as an idle bridge writes, the thread ends. */
const quietTimes = 30;
const quietPages = 100;

const file = workerData as string;
const sqlite = new SqliteDatabase(file, { timeout: 100 });
let [quiet, lastPages] = [0, 0];
const timer = setInterval(() => {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  const pages = shortenLog(sqlite, file, bavail * bsize);
  parentPort?.postMessage('kept short');
  quiet = Math.abs(pages - lastPages) < quietPages ? quiet + 1 : 0;
  lastPages = pages;
  if (quiet >= quietTimes && emptyLog(sqlite)) end();
}, everyMs);

function end(): void {
  clearInterval(timer);
  sqlite.close();
  parentPort?.close();
}

parentPort?.once('message', end);

interface Sqlite {
  pragma(source: string): unknown;
}

/** So long a log cannot be moved completely between two commits, so writers must wait once. */
const longPages = 20_000;
/** The log may take this part of the free space including itself. */
const logShare = 1 / 3;

/**
 * Moves SQLite's log into the database file. The first pass stops no writer, and usually it is enough.
 * Under load a second pass moves what came during the first, so that little is left for the last pass,
 * which starts the log anew. On a nearly full disk the last pass also frees the space of the log.
 *
 * @param freeBytes the free space of the disk
 * @returns how many pages the log had
 */
export function shortenLog(sqlite: Sqlite, file: string, freeBytes: number): number {
  const pages = moveLog(sqlite, 'PASSIVE');
  const logBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (logBytes > (logBytes + freeBytes) * logShare) {
    moveLog(sqlite, 'PASSIVE');
    moveLog(sqlite, 'TRUNCATE');
  } else if (pages >= longPages) {
    moveLog(sqlite, 'PASSIVE');
    moveLog(sqlite, 'RESTART');
  }
  return pages;
}

/** @returns false if a reader or a writer was in the way */
function emptyLog(sqlite: Sqlite): boolean {
  const [result] = sqlite.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
  return result?.busy === 0;
}

/** @returns how many pages the log had */
function moveLog(sqlite: Sqlite, mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE'): number {
  const [result] = sqlite.pragma(`wal_checkpoint(${mode})`) as { log: number }[];
  return result?.log ?? 0;
}
