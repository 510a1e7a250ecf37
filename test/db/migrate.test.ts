import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import { up as createInbox } from '../../migrations/0001-inbox.ts';
import { up as createEvidence } from '../../migrations/0002-evidence.ts';
import { up as createMembership } from '../../migrations/0003-membership.ts';
import { up as createRemovals } from '../../migrations/0004-removals.ts';
import { up as createTurns } from '../../migrations/0018-turns.ts';
import { inTransaction } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { describeEachDialect, openForTest } from '../support/databases.ts';

const names = globSync('migrations/*.ts')
  .map((file) => path.basename(file, '.ts'))
  .toSorted();

describeEachDialect('migrating', ({ createEmpty, createMigrated }) => {
  it('runs every migration of the folder in order, and none a second time', async () => {
    const database = openForTest(await createEmpty());
    expect(await migrate(database)).toEqual(names);
    expect(await migrate(database)).toEqual([]);
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

  it('leaves what is stored as it is', async () => {
    const database = openForTest(await createMigrated());
    await inTransaction(database, (tx) => writeSetting(tx, 'key_fingerprint', 'abc'));
    await migrate(database);
    const kept = await inTransaction(database, (tx) => readSetting(tx, 'key_fingerprint'));
    expect(kept).toBe('abc');
  });

  it('has everybody derived again by the first version with a brake', async () => {
    const { kysely } = openForTest(await createEmpty());
    const db = kysely as unknown as Kysely<unknown>;
    for (const up of [createInbox, createEvidence, createMembership]) await up(db);
    const values = sql`'studio', 'signs', 't1', 0, 2, 'removing', 1, 0, '2026-03-15T12:00:00.000Z'`;
    await sql`insert into membership (tool, group_id, trainer_id, wanted, generation, state,
      is_ours, attempts, updated_at) values (${values})`.execute(kysely);
    await createRemovals(db);
    expect(await kysely.selectFrom('derivation').selectAll().execute()).toEqual([
      { trainerId: 't1' },
    ]);

    // And still does once there is a row for each install.
    await createTurns(db);
    expect(await kysely.selectFrom('derivation').selectAll().execute()).toMatchObject([
      { install: '', trainerId: 't1' },
    ]);
    const again = { install: 'acme', trainerId: 't1' };
    await kysely.insertInto('derivation').values(again).execute();
    expect(await kysely.selectFrom('derivation').selectAll().execute()).toHaveLength(2);
  });

  it('refuses a database that a newer version has made its own, and says what to do', async () => {
    const database = openForTest(await createMigrated());
    await inTransaction(database, (tx) => writeSetting(tx, 'compatibility', '999'));
    await expect(migrate(database)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/newer version.*start that version, or restore/),
    });
    const kept = await inTransaction(database, (tx) => readSetting(tx, 'compatibility'));
    expect(kept).toBe('999');
  });

  it('works with a database to which a newer version has only added', async () => {
    const database = openForTest(await createMigrated());
    await sql`insert into kysely_migration (name, timestamp) values ('9999-added', '2099-01-01')`.execute(
      database.kysely,
    );
    expect(await migrate(database)).toEqual([]);
  });
});

it('lists the migrations that lie in the folder', () => {
  expect(names.length).toBeGreaterThan(2);
  const source = readFileSync('src/db/migrate.ts', 'utf8');
  for (const name of names) expect(source).toContain(`'${name}':`);
});
