import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { fillDatabase } from '../../src/db/copy-database.ts';
import type { Database } from '../../src/db/database.ts';
import { tables } from '../../src/db/schema.ts';
import { readBackup, readHeader, writeBackup } from '../../src/keys/backup-file.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { insertAny, readAll } from '../support/any-rows.ts';
import { type Dialect, openForTest, postgres, sqlite } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';

const key = randomBytes(32);
const box = createSecretBox(key);
const madeAt = '2026-03-15T12:00:00.000Z';

let file: string;
beforeEach(() => {
  file = path.join(createFolder(), 'backup');
});

async function openFilled({ createMigrated }: Dialect): Promise<Database> {
  const database = openForTest(await createMigrated());
  for (const table of Object.keys(tables)) await insertAny(database, table);
  return database;
}

const backUp = (database: Database) => writeBackup(file, { database, box, madeAt }, () => undefined);

async function restore(database: Database, opening = box) {
  const { migrations } = await readHeader(file);
  return await fillDatabase(database, migrations, (insert) => readBackup(file, opening, insert));
}

const isOurs = (row: object) => !('name' in row && row.name === 'restored');

describe.each([
  [sqlite, sqlite],
  [sqlite, postgres],
  [postgres, sqlite],
  [postgres, postgres],
])('a backup of $name', (from, to) => {
  it(`gives ${to.name} every row of every table back, and no number twice`, async () => {
    const database = await openFilled(from);
    const { id } = await insertReceipt(database);
    await database.kysely.deleteFrom('receipt').where('id', '=', id).execute();
    const counts = await backUp(database);
    const restored = openForTest(await to.createEmpty());
    expect(await restore(restored)).toEqual(counts);
    const settled = (await readAll(restored)).map((rows) => rows.filter(isOurs));
    expect(settled).toEqual(await readAll(database));
    expect((await insertReceipt(restored)).id).toBe(id + 1);
  });
});

describe('a backup', () => {
  it('is of one moment, and includes what is only in the log of SQLite', async () => {
    const url = await sqlite.createMigrated();
    const [database, other] = [openForTest(url), openForTest(url)];
    await insertAny(database, 'membership');
    await insertReceipt(database);
    let inserted: Promise<unknown> | undefined;
    const counts = await writeBackup(file, { database, box, madeAt }, () => {
      inserted ??= insertReceipt(other);
    });
    await inserted;
    expect([counts['receipt'], await countReceipts(database)]).toEqual([1, 2]);
  });

  it('is readable by its owner alone, and nothing in it by anybody without the key', async () => {
    const database = await openFilled(sqlite);
    await sql`update person set work_email_domain = 'secret.example'`.execute(database.kysely);
    await backUp(database);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'latin1')).not.toContain('secret.example');
    const other = createSecretBox(randomBytes(32));
    await expect(restore(await openEmpty(), other)).rejects.toThrow(box.fingerprint);
  });

  it.each([
    ['was cut off', (all: Buffer) => all.subarray(0, -1000)],
    ['lacks a piece', (all: Buffer) => Buffer.concat([all.subarray(0, all.indexOf(10) + 1), all.subarray(-1000)])],
    ['was changed', (all: Buffer) => all.fill(1, all.length - 100, all.length - 90)],
    ['has another first line', (all: Buffer) => Buffer.from(all.toString('latin1').replace('2026', '2027'), 'latin1')],
    ['has only a first line', (all: Buffer) => all.subarray(0, all.indexOf(10) + 1)],
    ['is empty', () => Buffer.alloc(0)],
    ['is something else', () => Buffer.from('{"a": 1}\n')],
  ])('that %s is refused, and the database stays empty', async (_what, spoil) => {
    const database = await openFilled(sqlite);
    await backUp(database);
    writeFileSync(file, spoil(readFileSync(file)));
    const empty = await openEmpty();
    await expect(restore(empty)).rejects.toThrow(/is damaged or was cut off|is not a backup/);
    expect((await readAll(empty)).flat()).toEqual([{ name: 'compatibility', value: '1' }]);
  });

  it('of a newer version is refused', async () => {
    await backUp(await openFilled(sqlite));
    const opening = readBackup(file, box, async () => undefined);
    await expect(opening).resolves.toBeUndefined();
    const newer = fillDatabase(await openEmpty(), ['0001-initial', '9999-newer'], async () => undefined);
    await expect(newer).rejects.toThrow(/newer version of Gangway \(9999-newer\)/);
  });

  it('replaces no data and no file', async () => {
    const database = await openFilled(sqlite);
    await backUp(database);
    await expect(restore(database)).rejects.toThrow(/has data already/);
    const kept = readFileSync(file);
    await expect(backUp(database)).rejects.toThrow(/the file exists: name a new one/);
    expect([readFileSync(file).equals(kept), readdirSync(path.dirname(file))]).toEqual([true, ['backup']]);
  });
});

async function openEmpty(): Promise<Database> {
  return openForTest(await sqlite.createMigrated());
}

async function countReceipts({ kysely }: Database): Promise<number> {
  return (await kysely.selectFrom('receipt').select('id').execute()).length;
}

async function insertReceipt({ kysely }: Database): Promise<{ id: number }> {
  const any = { membershipId: 1, generation: 1, operation: 'add', outcome: 'added', createdAt: madeAt } as const;
  return await kysely.insertInto('receipt').values(any).returning('id').executeTakeFirstOrThrow();
}
