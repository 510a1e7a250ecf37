import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import type { SyncFile } from '../../src/db/sqlite-log.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
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

it('a durable commit is answered when it is on the disk, and holds up no other writer until then', async () => {
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

it('a commit that did not get to the disk is refused, and before a repeat is answered it is in the file itself', async () => {
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

it('a commit is refused too where one before it did not get to the disk', async () => {
  const disks = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const left = [...disks];
  const database = await openWith(() => left.shift()?.promise ?? Promise.resolve());
  const answered = Promise.allSettled([write(database, 'one', true), write(database, 'two', true)]);
  await until(
    'both wait for the disk',
    () => left.length,
    (count) => count === 0,
  );
  disks[0]?.reject(new Error('away'));
  disks[1]?.resolve();
  expect((await answered).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});

it('nothing is answered while the log cannot be moved either', async () => {
  const database = await openWith(() => Promise.reject(new Error('away')));
  await expect(write(database, 'one', true)).rejects.toMatchObject({ code: 'unavailable' });
  await sql`pragma busy_timeout = 0`.execute(database.kysely);
  await inTransaction(openForTest(database.url), async (tx) => {
    await writeSetting(tx, name, 'two');
    await expect(database.transact(async () => 'a repeat', true)).rejects.toMatchObject({ code: 'unavailable' });
  });
});
