import { copyFileSync, renameSync, statSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { createCheckpointer } from '../../src/db/checkpointer.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { type SyncFile, shortenLog } from '../../src/db/sqlite-log.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { createLogLines } from '../support/log-lines.ts';
import { until } from '../support/until.ts';

const name = 'key_fingerprint';
const read = (database: Database) => inTransaction(database, (tx) => readSetting(tx, name));
const write = (database: Database, value: string, isDurable: boolean) =>
  inTransaction(database, (tx) => writeSetting(tx, name, value), { isDurable });

async function openWith(sync: SyncFile): Promise<Database> {
  const database = openDatabase(await sqlite.createMigrated(), { ownsThread: true, sync });
  onTestFinished(() => database.close());
  return database;
}

it('a durable commit resolves when it is on the disk, and does not block other writers until then', async () => {
  const disk = Promise.withResolvers<void>();
  let isAnswered = false;
  const database = await openWith(() => disk.promise);
  const answered = write(database, 'one', true).then(() => {
    isAnswered = true;
  });
  const other = openForTest(database.url);
  await write(other, 'two', false);
  expect(await read(other)).toBe('two');
  expect(isAnswered).toBe(false);
  disk.resolve();
  await answered;
});

it('only durable commits wait for the disk', async () => {
  const database = await openWith(() => Promise.reject(new Error('away')));
  await write(database, 'one', false);
  expect(await read(database)).toBe('one');
});

it('a commit that did not reach the disk fails, and a repeat resolves only when it is in the file', async () => {
  let isAway = true;
  const database = await openWith(async () => {
    if (isAway) throw new Error('away');
  });
  await expect(write(database, 'one', true)).rejects.toMatchObject({ code: 'unavailable' });
  isAway = false;
  // As a repeat of something that is stored already, it writes nothing.
  await inTransaction(database, (tx) => readSetting(tx, name), { isDurable: true });
  const copy = path.join(createFolder(), 'without-its-log.db');
  copyFileSync(sqliteFileOf(database.url) ?? '', copy);
  expect(await read(openForTest(`sqlite:${copy}`))).toBe('one');
});

it('a commit fails if an earlier one did not reach the disk', async () => {
  const disks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const left = [...disks];
  const database = await openWith(() => left.shift()?.promise ?? Promise.resolve());
  const first = write(database, 'one', true);
  await until('the first waits for the disk', () => left.length === 1, Boolean);
  const answered = Promise.allSettled([first, write(database, 'two', true)]);
  await until('both wait for the disk', () => left.length === 0, Boolean);
  disks[0]?.reject(new Error('away'));
  disks[1]?.resolve();
  expect((await answered).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

it('no durable commit resolves while the log cannot be moved either', async () => {
  const database = await openWith(() => Promise.reject(new Error('away')));
  await expect(write(database, 'one', true)).rejects.toMatchObject({ code: 'unavailable' });
  await sql`pragma busy_timeout = 0`.execute(database.kysely);
  await inTransaction(openForTest(database.url), async (tx) => {
    await writeSetting(tx, name, 'two');
    await expect(database.transact(async () => 'a repeat', true)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

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

it('frees the log on a nearly full disk, and keeps its file elsewhere', async () => {
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

it('keeps the log of SQLite short again after it has failed', async () => {
  const file = sqliteFileOf(await sqlite.createMigrated()) ?? '';
  const [folder, away] = [path.dirname(file), `${path.dirname(file)}-away`];
  const database = new SqliteDatabase(file);
  onTestFinished(() => void database.close());
  database.pragma('journal_mode = WAL');
  const log = createLogLines();
  const checkpointer = createCheckpointer(file, log.logger, 100);
  checkpointer.start();
  onTestFinished(() => checkpointer.stop());

  const said = () => log.lines().map(({ msg }) => String(msg));
  renameSync(folder, away);
  await until('it has failed', said, ([first = '']) => first.includes('has failed'));
  renameSync(away, folder);
  database.pragma('wal_autocheckpoint = 0');
  database.exec('create table filler (bytes blob); insert into filler values (zeroblob(4194304))');
  await until('it is kept short', () => statSync(file).size > 4_194_304, Boolean);
  await until('it says so', said, (lines) => lines.some((line) => line.includes('short again')));
  // However often it was tried meanwhile.
  expect(said().filter((line) => line.includes('has failed'))).toHaveLength(1);
});
