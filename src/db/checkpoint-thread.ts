import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';
import { readDisk } from './disk.ts';
import { emptyLog, shortenLog } from './sqlite-log.ts';

/**
 * The thread that moves SQLite's log into the database file. Without it, a commit does that, which takes a tenth of a
 * second in a large database, because the changed pages are spread over the file.
 */
const everyMs = 2000;
/** The thread ends after a minute in which no more pages are written than by an idle bridge. */
const quietTimes = 30;
const quietPages = 100;

const file = workerData as string;
const sqlite = new SqliteDatabase(file, { timeout: 100 });
let [quiet, lastPages] = [0, 0];
const timer = setInterval(() => {
  const pages = shortenLog(sqlite, file, readDisk(file)?.freeBytes ?? 0);
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
