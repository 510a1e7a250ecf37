import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Kysely, sql } from 'kysely';
import { expect, it, onTestFinished, vi } from 'vitest';
import { inTransaction } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { AppError } from '../../src/domain/errors.ts';
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
    const executed = await Promise.all(instances.map(migrate));
    expect(executed.flat().toSorted()).toEqual(names);
    for (const { kysely } of instances) {
      expect(await kysely.selectFrom('delivery').selectAll().execute()).toEqual([]);
    }
  });

  it('keeps the stored rows', async () => {
    const database = openForTest(await createMigrated());
    await inTransaction(database, (tx) => writeSetting(tx, 'key_fingerprint', 'abc'));
    await migrate(database);
    const kept = await inTransaction(database, (tx) => readSetting(tx, 'key_fingerprint'));
    expect(kept).toBe('abc');
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

it('lists the migrations of the folder', () => {
  const source = readFileSync('src/db/migrate.ts', 'utf8');
  for (const name of names) expect(source).toContain(`'${name}':`);
});
