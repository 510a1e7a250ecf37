import { statfsSync } from 'node:fs';
import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import SqliteDatabase from 'better-sqlite3';
import { shortenLog } from './shorten-log.ts';

/**
 * The thread that moves SQLite's log into the database file. Otherwise a commit would do it, and with
 * a large inbox that takes a tenth of a second, because the changed pages are all over the file.
 */
const everyMs = 2000;

const file = workerData as string;
const sqlite = new SqliteDatabase(file, { timeout: 100 });
const timer = setInterval(() => {
  const { bavail, bsize } = statfsSync(path.dirname(file));
  shortenLog(sqlite, file, bavail * bsize);
  parentPort?.postMessage('kept short');
}, everyMs);

parentPort?.once('message', () => {
  clearInterval(timer);
  sqlite.close();
  parentPort?.close();
});
