import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { describeEachDialect, openForTest, postgres } from '../support/databases.ts';
import { until } from '../support/until.ts';

const everyMs = 20;

interface Watched {
  count(): number;
  /** What was there before is told of by then. */
  untilQuiet(): Promise<void>;
}

function watch(database: Database): Watched {
  let calls = 0;
  const watching = database.watch(() => {
    calls += 1;
  }, everyMs);
  onTestFinished(() => watching.stop());
  const count = () => calls;
  async function untilQuiet(): Promise<void> {
    for (let seen = -1; seen !== calls; await wait(1500)) seen = calls;
  }
  return { count, untilQuiet };
}

const write = (database: Database, value: string) =>
  inTransaction(database, (tx) => writeSetting(tx, 'usage_tick', value));

describeEachDialect('watching a database', ({ name, createMigrated }) => {
  it('tells what this process has written', async () => {
    const database = openForTest(await createMigrated());
    const watched = watch(database);
    await watched.untilQuiet();
    const before = watched.count();
    await write(database, '1');
    await until('it is told', watched.count, (calls) => calls > before);
  });

  it('tells what another has written, a command that ends at once too', async () => {
    const url = await createMigrated();
    const watched = watch(openForTest(url));
    await watched.untilQuiet();
    const before = watched.count();
    const other = openForTest(url);
    await write(other, '1');
    await other.close();
    await until('it is told', watched.count, (calls) => calls > before);
  });

  it('says nothing while everybody only reads', async () => {
    const url = await createMigrated();
    const [database, other] = [openForTest(url), openForTest(url)];
    await write(database, '1');
    const watched = watch(database);
    await watched.untilQuiet();
    const before = watched.count();
    for (const one of [database, other]) await inTransaction(one, (tx) => readSetting(tx, 'usage_tick'));
    await wait(700);
    expect(watched.count(), name).toBe(before);
  });
});

it('tells again after its connection was lost', async () => {
  const url = await postgres.createMigrated();
  const [database, other] = [openForTest(url), openForTest(url)];
  const watched = watch(database);
  await watched.untilQuiet();
  await endListeners(other);
  await watched.untilQuiet();
  await until(
    'it listens again',
    () => countListeners(other),
    (count) => count === 1,
  );
  await watched.untilQuiet();
  const before = watched.count();
  await write(other, '1');
  await until('it is told', watched.count, (calls) => calls > before);
}, 60_000);

const listeners = sql`from pg_stat_activity where datname = current_database() and query like 'listen %'`;

async function endListeners({ kysely }: Database): Promise<void> {
  await sql`select pg_terminate_backend(pid) ${listeners}`.execute(kysely);
}

async function countListeners({ kysely }: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count ${listeners}`.execute(kysely);
  return rows[0]?.count ?? 0;
}
