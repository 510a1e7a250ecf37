import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { readSetting, type SettingName, writeSetting } from '../../src/db/setting-store.ts';
import { sqlite } from '../support/databases.ts';

async function openCounting() {
  let syncs = 0;
  const sync = async () => {
    syncs += 1;
  };
  const database = openDatabase(await sqlite.createMigrated(), { sync });
  onTestFinished(() => database.close());
  return { database, syncs: () => syncs };
}

const write = ({ transact }: Database, name: SettingName) => transact((tx) => writeSetting(tx, name, 'written'), true);

it('writes of the same moment reach the disk together, and one that fails takes back only its own', async () => {
  const { database, syncs } = await openCounting();
  const ended = await Promise.allSettled([
    write(database, 'usage_tick'),
    database.transact(async (tx) => {
      await writeSetting(tx, 'usage_rules', 'written');
      throw new Error('on purpose');
    }, true),
    write(database, 'restored'),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(ended[1]).toMatchObject({ reason: { message: 'on purpose' } });
  expect(syncs()).toBe(1);
  const names: SettingName[] = ['usage_tick', 'usage_rules', 'restored'];
  const kept = await Promise.all(names.map((name) => readSetting(database.kysely, name)));
  expect(kept).toEqual(['written', undefined, 'written']);
});

it('if the database takes back the whole transaction, as on a full disk, only the one that made it fails', async () => {
  const { database } = await openCounting();
  const ended = await Promise.allSettled([
    write(database, 'usage_tick'),
    database.transact(async (tx) => {
      await sql`rollback`.execute(tx);
      throw new Error('the disk is full');
    }, true),
    write(database, 'restored'),
  ]);
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(ended[1]).toMatchObject({ reason: { message: 'the disk is full' } });
  expect(await readSetting(database.kysely, 'usage_tick')).toBe('written');
  expect(await readSetting(database.kysely, 'restored')).toBe('written');
});
