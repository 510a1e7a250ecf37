import { statSync } from 'node:fs';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { sqliteFileOf } from '../../src/db/sqlite-database.ts';
import { readDatabaseSize } from '../../src/db/sqlite-file.ts';
import { describeEachDatabase } from '../support/databases.ts';

const bytes = 2_000_000;

describeEachDatabase('the size of the database', (openFresh) => {
  it('grows with what is stored', async () => {
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
