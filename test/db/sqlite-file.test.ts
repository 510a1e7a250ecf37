import { statSync } from 'node:fs';
import SqliteDatabase from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { readDatabaseSize, shrinkFile } from '../../src/db/sqlite-file.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { deleteOld } from '../../src/inbox/storage-store.ts';
import { describeEachDatabase, openForTest, postgres, sqlite } from '../support/databases.ts';
import { newDelivery } from '../support/deliveries.ts';
import { storageOf } from '../support/storage-of.ts';

describe('a SQLite file', () => {
  it('shrinks after its deliveries were deleted, in small steps', async () => {
    const database = openForTest(await sqlite.createMigrated());
    await fillAndEmpty(database);
    const before = await countPages(database);
    expect(before.free).toBeGreaterThan(200);

    const steps: number[] = [];
    for (let isMore = true; isMore; ) {
      const { all } = await countPages(database);
      isMore = await shrinkFile(database, 10);
      steps.push(all - (await countPages(database)).all);
    }
    const after = await countPages(database);
    expect(after.free).toBeLessThanOrEqual(10);
    expect(before.all - after.all).toBeGreaterThanOrEqual(before.free - 10);
    expect(Math.max(...steps)).toBeLessThanOrEqual(80);
    expect(steps.length).toBeGreaterThan(3);

    await sql`pragma wal_checkpoint(truncate)`.execute(database.kysely);
    const file = sqliteFileOf(database.url) ?? '';
    expect(statSync(file).size).toBe(after.all * 4096);
  });

  it('that was made without auto_vacuum is not asked again and again', async () => {
    const url = await sqlite.createEmpty();
    const plain = new SqliteDatabase(sqliteFileOf(url) ?? '');
    plain.exec('create table made_elsewhere (id integer)');
    plain.close();
    const database = openForTest(url);
    await migrate(database);
    await fillAndEmpty(database);
    expect((await countPages(database)).free).toBeGreaterThan(200);
    expect(await shrinkFile(database, 10)).toBe(false);
  });

  it('keeps free pages for the next deliveries', async () => {
    const database = openForTest(await sqlite.createMigrated());
    await fillAndEmpty(database);
    const before = await countPages(database);
    expect(await shrinkFile(database, 100_000)).toBe(false);
    expect(await countPages(database)).toEqual(before);
  });
});

it('shrinks nothing on PostgreSQL', async () => {
  const database = openForTest(await postgres.createMigrated());
  expect(await shrinkFile(database, 0)).toBe(false);
});

async function fillAndEmpty(database: Database): Promise<void> {
  const bodies = Array.from({ length: 100 }, (_, index) => `${index} ${'x'.repeat(10_000)}`);
  await appendDeliveries(
    storageOf(database),
    bodies.map((body) => newDelivery(body)),
  );
  while ((await deleteOld(database, '2099-01-01', 50)) > 0);
}

async function countPages({ kysely }: Database): Promise<{ all: number; free: number }> {
  const all = await sql<{ pageCount: number }>`pragma page_count`.execute(kysely);
  const free = await sql<{ freelistCount: number }>`pragma freelist_count`.execute(kysely);
  return { all: all.rows[0]?.pageCount ?? 0, free: free.rows[0]?.freelistCount ?? 0 };
}

const bytes = 2_000_000;

describeEachDatabase('the size of the database', (openFresh) => {
  it('grows with the stored rows', async () => {
    const database = await openFresh();
    const before = await readDatabaseSize(database);
    expect(before).toBeGreaterThan(100_000);
    // Random, so that PostgreSQL does not compress it.
    const random = Array.from({ length: bytes / 10 }, () => Math.random().toString(36).slice(2, 12).padEnd(10, '0'));
    await sql`insert into setting (name, value) values ('large', ${random.join('')})`.execute(database.kysely);
    const grown = (await readDatabaseSize(database)) - before;
    expect(grown).toBeGreaterThan(bytes * 0.8);
    expect(grown).toBeLessThan(bytes * 3);
  });

  it('is that of the file and its log on SQLite', async () => {
    const database = await openFresh();
    const file = sqliteFileOf(database.url);
    if (file === undefined) return;
    await sql`insert into setting (name, value) values ('a', 'b')`.execute(database.kysely);
    const log = statSync(`${file}-wal`).size;
    expect(log).toBeGreaterThan(0);
    expect(await readDatabaseSize(database)).toBe(statSync(file).size + log);
  });
});
