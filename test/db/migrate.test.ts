import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { expect, it } from 'vitest';
import { up as createInbox } from '../../migrations/0001-inbox.ts';
import { up as createEvidence } from '../../migrations/0002-evidence.ts';
import { up as createMembership } from '../../migrations/0003-membership.ts';
import { up as createRemovals } from '../../migrations/0004-removals.ts';
import { up as createTurns } from '../../migrations/0018-turns.ts';
import { up as createResets } from '../../migrations/0019-resets.ts';
import { up as bindAccountIds } from '../../migrations/0020-account-ids.ts';
import { up as createBindings } from '../../migrations/0027-bindings.ts';
import { type Database, inTransaction, type Transaction } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { AppError } from '../../src/domain/errors.ts';
import { describeEachDialect, openForTest, postgres } from '../support/databases.ts';
import { until } from '../support/until.ts';

const at = '2026-03-15T12:00:00.000Z';

const names = globSync('migrations/*.ts')
  .map((file) => path.basename(file, '.ts'))
  .toSorted();

it('is done by the next start where its connection to PostgreSQL is terminated', async () => {
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

  it('has each install forget whom all had forgotten', async () => {
    const { kysely } = openForTest(await createMigrated());
    for (const table of ['link_reset', 'mailed', 'forgotten_person']) {
      await kysely.schema.dropTable(table).execute();
    }
    const forgottenAt = '2026-03-15T12:00:00.000Z';
    await sql`insert into forgotten (trainer_id, forgotten_at) values ('t1', ${forgottenAt})`.execute(kysely);
    for (const [install, trainerId] of [
      ['acme', 't1'],
      ['globex', 't1'],
      ['globex', 't2'],
    ] as const) {
      const participation = {
        install,
        trainerId,
        contractId: 'c1',
        seenAt: forgottenAt,
        absences: null,
      };
      await kysely.insertInto('participation').values(participation).execute();
    }
    await createResets(kysely as unknown as Kysely<unknown>);
    const forgotten = kysely.selectFrom('forgottenPerson').selectAll().orderBy('install');
    expect(await forgotten.execute()).toEqual([
      { install: 'acme', trainerId: 't1', forgottenAt },
      { install: 'globex', trainerId: 't1', forgottenAt },
    ]);
  });

  it('binds an install to the grant that it was read for last, or connected with', async () => {
    const { kysely } = openForTest(await createMigrated());
    for (const table of ['install_binding', 'tool_binding']) {
      await kysely.schema.dropTable(table).execute();
    }
    await kysely.schema.dropIndex('membership_orphaned').execute();
    const never = { revokedEventAt: null, revokedReceivedAt: null };
    for (const [install, grantId, activeReadAt] of [
      ['globex', 'g1', at],
      ['globex', 'g2', '2026-03-16T12:00:00.000Z'],
      ['initech', 'g3', null],
    ] as const) {
      await kysely
        .insertInto('installGrant')
        .values({ install, grantId, activeReadAt, ...never })
        .execute();
    }
    const place = { tool: 'studio', projects: '[]', token: Buffer.of(1), connectedAt: at };
    await kysely
      .insertInto('connectedInstall')
      .values({ install: 'acme', grantId: 'g4', organizationId: 'o1', ...place })
      .execute();
    await createBindings(kysely as unknown as Kysely<unknown>);
    const bound = kysely.selectFrom('installBinding').selectAll().orderBy('install');
    expect(await bound.execute()).toEqual([
      { install: 'acme', grantId: 'g4', organizationId: 'o1', appId: null },
      { install: 'globex', grantId: 'g2', organizationId: null, appId: null },
    ]);
  });

  it('binds an account to the trainer who has its id, where that is one', async () => {
    const { kysely } = openForTest(await createMigrated());
    for (const [accountId, ...trainers] of [['1', 't1'], ['2', 't1', 't2'], ['3']] as const) {
      await kysely.insertInto('account').values({ tool: 'studio', accountId, isOurs: 1, seenAt: at }).execute();
      for (const trainerId of trainers) {
        const row = { tool: 'studio', groupId: 'signs', trainerId, memberId: accountId };
        const state = {
          state: 'active',
          wanted: 1,
          generation: 1,
          isOurs: 1,
          attempts: 0,
        } as const;
        await kysely
          .insertInto('membership')
          .values({ ...row, ...state, install: 'acme', updatedAt: at })
          .execute();
      }
    }
    const raw = kysely as unknown as Kysely<unknown>;
    await sql`alter table membership drop column doubted_id`.execute(raw);
    await sql`alter table account drop column trainer_id`.execute(raw);
    await sql`alter table account drop column made_at`.execute(raw);
    await bindAccountIds(raw);
    const accounts = kysely.selectFrom('account').select('trainerId').orderBy('accountId');
    expect(await accounts.execute()).toEqual([{ trainerId: 't1' }, { trainerId: null }, { trainerId: null }]);
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
    expect(await kysely.selectFrom('derivation').selectAll().execute()).toEqual([{ trainerId: 't1' }]);

    // And still does once there is a row for each install.
    await createTurns(db);
    expect(await kysely.selectFrom('derivation').selectAll().execute()).toMatchObject([
      { install: '', trainerId: 't1' },
    ]);
    const again = { install: 'acme', trainerId: 't1' };
    await kysely.insertInto('derivation').values(again).execute();
    expect(await kysely.selectFrom('derivation').selectAll().execute()).toHaveLength(2);
  });

  it('keeps memberships, and what refers to them, when their key goes', async () => {
    const database = openForTest(await createEmpty());
    const before = names.filter((name) => name < '0016');
    await migrateOnly(database, before);
    await inTransaction(database, async (tx) => {
      await sql`insert into membership (tool, group_id, trainer_id, wanted, generation, state,
        is_ours, attempts, updated_at, install, member_id) values
        ('studio', 'signs', 't1', 1, 1, 'active', 1, 0, ${at}, 'acme', 'm1'),
        ('studio', 'signs', 't2', 0, 2, 'removed', 0, 0, ${at}, 'acme', 'm2')`.execute(tx);
      await sql`delete from membership where trainer_id = 't2'`.execute(tx);
      await sql`insert into receipt (membership_id, generation, operation, outcome, created_at)
        select id, 1, 'add', 'added', ${at} from membership`.execute(tx);
      await sql`insert into person (install, trainer_id, work_email, work_email_digest,
        work_email_domain) values ('acme', 't1', ${Buffer.from('sealed')}, 'digest', 'x.test')`.execute(tx);
    });
    expect(await migrate(database)).toEqual(names.filter((name) => name >= '0016'));

    const { kysely } = database;
    expect(await kysely.selectFrom('membership').select(['trainerId', 'memberId']).execute()).toEqual([
      { trainerId: 't1', memberId: 'm1' },
    ]);
    expect(
      await kysely
        .selectFrom('membershipAddress')
        .select(['install', 'workEmailDigest', 'isCurrent', 'givenAt', 'endedAt', 'wasAbsent'])
        .execute(),
    ).toEqual([
      { install: 'acme', workEmailDigest: 'digest', isCurrent: 1, givenAt: at, endedAt: null, wasAbsent: null },
    ]);
    // What refers to it is still held to that, and an id is never given out again.
    await expect(kysely.deleteFrom('membership').execute()).rejects.toThrow(/foreign key/i);
    const { id } = await sql<{ id: number }>`insert into membership (tool, group_id, trainer_id,
      wanted, generation, state, is_ours, attempts, updated_at) values
      ('studio', 'signs', 't1', 1, 1, 'pending', 0, 0, ${at}) returning id`
      .execute(kysely)
      .then(({ rows: [row] }) => row ?? { id: 0 });
    expect(Number(id)).toBe(3);
  });

  it('leaves everybody where they are whose contracts were taken for ended by no list', async () => {
    const database = openForTest(await createEmpty());
    await migrateOnly(
      database,
      names.filter((name) => name < '0026'),
    );
    const missed = (minutes: number) => `2026-03-15T11:${minutes}:00.000Z`;
    const twice = `${missed(20)} ${missed(30)}`;
    await inTransaction(database, async (tx) => {
      await sql`insert into contract (install, contract_id, started_event_at, active_read_at,
        absences) values
        ('acme', 'out', ${missed(10)}, null, ${twice}),
        ('acme', 'seen', ${missed(10)}, ${missed(25)}, ${twice}),
        ('acme', 'once', ${missed(10)}, null, ${missed(30)}),
        ('acme', 'going', ${missed(10)}, null, ${twice}),
        ('acme', 'held', ${missed(10)}, null, ${twice})`.execute(tx);
      await sql`insert into membership (tool, group_id, trainer_id, wanted, generation, state, cause,
        cleared_generation, next_attempt_at, is_ours, attempts, updated_at, install) values
        ('studio', 'signs', 'out', 0, 2, 'removed', 'contract_eliminated', 2, null, 0, 0, ${at}, 'acme'),
        ('studio', 'signs', 'going', 0, 2, 'removing', 'contract_eliminated', 2, ${at}, 1, 0, ${at}, 'acme'),
        ('studio', 'signs', 'held', 0, 2, 'held', 'contract_eliminated', null, null, 1, 0, ${at}, 'acme'),
        ('studio', 'signs', 'other', 0, 2, 'removing', 'contract_ended', 2, ${at}, 1, 0, ${at}, 'acme')`.execute(tx);
      await sql`insert into reason (membership_id, install, contract_id, link_id)
        select id, install, trainer_id, 'l1' from membership`.execute(tx);
    });
    await migrate(database);

    const { kysely } = database;
    const contracts = kysely.selectFrom('contract').select(['contractId', 'endedByOperatorAt']);
    expect(await contracts.where('endedByOperatorAt', 'is not', null).execute()).toEqual([
      { contractId: 'out', endedByOperatorAt: missed(30) },
    ]);
    const waiting = kysely.selectFrom('derivation').select('trainerId').orderBy('trainerId');
    expect(await waiting.execute()).toEqual([{ trainerId: 'going' }, { trainerId: 'held' }]);
    // Nobody works on it before it was derived and the brake was asked again.
    const due = kysely.selectFrom('membership').select(['trainerId', 'removeAfter']);
    expect(await due.where('nextAttemptAt', 'is not', null).execute()).toEqual([
      { trainerId: 'other', removeAfter: null },
    ]);
    expect(await due.where('removeAfter', 'is not', null).execute()).toEqual([{ trainerId: 'going', removeAfter: at }]);
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

/** As a version would have left it that knew no more than these. */
async function migrateOnly(database: Database, known: string[]): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const name of known) migrations[name] = await import(`../../migrations/${name}.ts`);
  const run = async (db: Transaction | Database['kysely']) => {
    const provider = { getMigrations: async () => migrations };
    const { error } = await new Migrator({ db, provider }).migrateToLatest();
    if (error !== undefined) throw error;
  };
  if (database.dialect === 'postgres') await run(database.kysely);
  else await inTransaction(database, run);
}
