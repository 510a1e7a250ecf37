import { statfsSync } from 'node:fs';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';
import { emptyLog, shortenLog } from './shorten-log.ts';

/**
 * The thread that moves SQLite's log into the database. Whoever commits would do it otherwise, and
 * in a large inbox it takes a tenth of a second: the changed pages lie all over the file. It ends
 * when hardly anything is written any more.
 */
const everyMs = 2000;
/** So many times in a row, a minute: what comes then is as little as an idle bridge writes. */
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
