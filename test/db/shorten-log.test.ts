import { statSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { shortenLog } from '../../src/db/sqlite-log.ts';
import { sqlite } from '../support/databases.ts';

const mib = 1024 * 1024;

/** A database whose log has grown to some 4 MiB. */
async function openLogged() {
  const file = sqliteFileOf(await sqlite.createMigrated()) ?? '';
  const database = new SqliteDatabase(file);
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = WAL');
  database.pragma('wal_autocheckpoint = 0');
  database.exec('create table filler (bytes blob); insert into filler values (zeroblob(4194304))');
  return { database, file, logBytes: () => statSync(`${file}-wal`).size };
}

it('gives the log back to a disk that is nearly full, and leaves it where there is room', async () => {
  const { database, file, logBytes } = await openLogged();
  expect(logBytes()).toBeGreaterThan(4 * mib);
  shortenLog(database, file, 100 * mib);
  expect(logBytes()).toBeGreaterThan(4 * mib);
  shortenLog(database, file, 5 * mib);
  expect(logBytes()).toBe(0);
});

it('does not fail while another connection reads or writes', async () => {
  const { database, file, logBytes } = await openLogged();
  const other = new SqliteDatabase(file, { timeout: 0 });
  onTestFinished(() => void other.close());
  database.pragma('busy_timeout = 0');
  other.exec('begin immediate');
  shortenLog(database, file, 0);
  expect(logBytes()).toBeGreaterThan(4 * mib);
  other.exec('rollback');
  shortenLog(database, file, 0);
  expect(logBytes()).toBe(0);
});
