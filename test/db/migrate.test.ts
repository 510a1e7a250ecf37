import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import path from 'node:path';
import { Kysely, sql } from 'kysely';
import { expect, it, onTestFinished, vi } from 'vitest';
import { initial } from '../../migrations/0001-initial.ts';
import { inTransaction } from '../../src/db/database.ts';
import { migrate, migrations } from '../../src/db/migrate.ts';
import { tables } from '../../src/db/schema.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { snakeCaseOf } from '../../src/db/snake-case.ts';
import { AppError } from '../../src/domain/errors.ts';
import { insertAny, readAll, schemaTypes } from '../support/any-rows.ts';
import { describeEachDialect, openForTest, postgres } from '../support/databases.ts';
import { until } from '../support/until.ts';

const names = globSync('migrations/*.ts')
  .map((file) => path.basename(file, '.ts'))
  .toSorted();

it('is done by the next start if its connection to PostgreSQL is terminated', async () => {
  const url = await postgres.createEmpty();
  const [database, other] = [openForTest(url), openForTest(url)];
  const begun = migrate(database).catch((error: unknown) => error);
  const terminate = () =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and state like '%transaction%'`.execute(other.kysely);
  await until('it was in the middle', terminate, ({ rows }) => rows.length > 0);
  expect(await begun).toBeInstanceOf(AppError);
  expect(await migrate(database)).toEqual(names);
});

describeEachDialect('migrating', ({ createEmpty, createMigrated }) => {
  it('runs every migration once, in order', async () => {
    const database = openForTest(await createEmpty());
    expect(await migrate(database)).toEqual(names);
    expect(await migrate(database)).toEqual([]);
  });

  it('reads no table definitions if there is nothing to do', async () => {
    const database = openForTest(await createMigrated());
    const look = vi.spyOn(Kysely.prototype, 'introspection', 'get');
    onTestFinished(() => look.mockRestore());
    expect(await migrate(database)).toEqual([]);
    expect(look).not.toHaveBeenCalled();
  });

  it('is done once by four instances that start at once', async () => {
    const url = await createEmpty();
    const instances = [1, 2, 3, 4].map(() => openForTest(url));
    const executed = await Promise.all(instances.map((one) => migrate(one)));
    expect(executed.flat().toSorted()).toEqual(names);
    for (const { kysely } of instances) {
      expect(await kysely.selectFrom('delivery').selectAll().execute()).toEqual([]);
    }
  });

  it('makes the tables of the schema', async () => {
    const { kysely } = openForTest(await createMigrated());
    const stored = (await kysely.introspection.getTables()).flatMap(({ name, columns }) =>
      columns.map(({ name: column, dataType, isNullable, hasDefaultValue, isAutoIncrementing }) => {
        const type = isAutoIncrementing ? 'counter' : (schemaTypes[dataType] ?? dataType);
        const hasDefault = hasDefaultValue && !isAutoIncrementing;
        return { column: `${name}.${column}`, type, isNullable: isNullable && !isAutoIncrementing, hasDefault };
      }),
    );
    const wanted = Object.entries(tables).flatMap(([table, { columns }]) =>
      Object.entries(columns).map(([column, { facts }]) => {
        const { type, isNullable = false, hasDefault = false } = facts;
        return { column: snakeCaseOf(`${table}.${column}`), type, isNullable, hasDefault };
      }),
    );
    const inOrder = (all: typeof stored) => all.toSorted((a, b) => (a.column < b.column ? -1 : 1));
    expect(inOrder(stored)).toEqual(inOrder(wanted));
  });

  it('keeps the rows of every table that an earlier version has written', async () => {
    const database = openForTest(await createEmpty());
    await migrate(database, { '0001-initial': initial });
    const names = [...initial.matchAll(/^create table (\w+)/gm)].map(([, table = '']) => table);
    for (const table of names) await insertAny(database, table);
    const before = await readAll(database, names);
    expect(before.every((rows) => rows.length > 0)).toBe(true);
    const later = 'alter table setting add column note TEXT;\ncreate table later (id COUNTER, seen_at TEXT);\n';
    expect(await migrate(database, { ...migrations, '9999-later': later })).toContain('9999-later');
    expect(await readAll(database, names)).toMatchObject(before);
    const settings = await database.kysely.selectFrom('setting').selectAll().execute();
    expect(settings.filter(({ name }) => name === 'x')).toEqual([{ name: 'x', value: 'x', note: null }]);
  });

  it('refuses a database that a newer version has changed, and says what to do', async () => {
    const database = openForTest(await createMigrated());
    await inTransaction(database, (tx) => writeSetting(tx, 'compatibility', '999'));
    await expect(migrate(database)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/newer version.*start that version, or restore/),
    });
    const kept = await inTransaction(database, (tx) => readSetting(tx, 'compatibility'));
    expect(kept).toBe('999');
  });

  it('uses a database to which a newer version has only added', async () => {
    const database = openForTest(await createMigrated());
    await sql`insert into kysely_migration (name, timestamp) values ('9999-added', '2099-01-01')`.execute(
      database.kysely,
    );
    expect(await migrate(database)).toEqual([]);
  });
});

it('has the migrations of the folder', () => {
  expect(Object.keys(migrations)).toEqual(names);
});

it('has the migrations as they were released', () => {
  const digests = Object.entries(migrations).map(([name, text]) => [name, digestOf(text)]);
  expect(Object.fromEntries(digests)).toMatchObject({
    '0001-initial': '7c8c90030f3b2ed9',
  });
});

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
