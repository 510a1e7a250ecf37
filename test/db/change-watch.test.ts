import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { createChangeChannel } from '../../src/db/postgres-database.ts';
import { readSetting, writeSetting } from '../../src/db/setting-store.ts';
import { describeEachDialect, openForTest, postgres } from '../support/databases.ts';
import { openSwallowingProxy } from '../support/swallowing-proxy.ts';
import { until } from '../support/until.ts';

const everyMs = 20;
/** Longer than a notification takes: on PostgreSQL it is sent up to half a second after the commit. */
const quietMs = { sqlite: 10 * everyMs, postgres: 700 };

interface Watched {
  count(): number;
  /** By then, everything that was there before has been announced. */
  untilQuiet(): Promise<void>;
}

function watch(database: Database, watchFor = database.watch): Watched {
  const { dialect } = database;
  let calls = 0;
  const watching = watchFor(() => {
    calls += 1;
  }, everyMs);
  onTestFinished(() => watching.stop());
  const count = () => calls;
  async function untilQuiet(): Promise<void> {
    // A connection that begins to listen announces a change: it may have missed some.
    if (dialect === 'postgres') {
      const listening = () => countListeners(database);
      await until('it listens', listening, (listeners) => listeners === 1);
    }
    for (let seen = -1; seen !== calls; await wait(quietMs[dialect])) seen = calls;
  }
  return { count, untilQuiet };
}

const write = (database: Database, value: string) =>
  inTransaction(database, (tx) => writeSetting(tx, 'usage_tick', value));

describeEachDialect('watching a database', ({ name, createMigrated }) => {
  it('notices what this process has written', async () => {
    const database = openForTest(await createMigrated());
    const watched = watch(database);
    await watched.untilQuiet();
    const before = watched.count();
    await write(database, '1');
    await until('it is announced', watched.count, (calls) => calls > before);
  });

  it('notices what another process has written, even one that ends at once', async () => {
    const url = await createMigrated();
    const watched = watch(openForTest(url));
    await watched.untilQuiet();
    const before = watched.count();
    const other = openForTest(url);
    await write(other, '1');
    await other.close();
    await until('it is announced', watched.count, (calls) => calls > before);
  });

  it('notices nothing while all connections only read', async () => {
    const url = await createMigrated();
    const [database, other] = [openForTest(url), openForTest(url)];
    await write(database, '1');
    const watched = watch(database);
    await watched.untilQuiet();
    const before = watched.count();
    for (const one of [database, other]) await inTransaction(one, (tx) => readSetting(tx, 'usage_tick'));
    await wait(quietMs[name]);
    expect(watched.count()).toBe(before);
  });
});

it('notices changes again after its connection was lost', async () => {
  const url = await postgres.createMigrated();
  const other = openForTest(url);
  const channel = createChangeChannel(url, () => Promise.resolve(), { waitMs: 100 });
  const watched = watch(other, channel.watch);
  await watched.untilQuiet();
  const first = watched.count();
  await endListeners(other);
  await until('it listens again', watched.count, (calls) => calls > first);
  await watched.untilQuiet();
  const before = watched.count();
  await write(other, '1');
  await until('it is announced', watched.count, (calls) => calls > before);
}, 60_000);

it('notices changes again after its connection became half open', async () => {
  const url = await postgres.createMigrated();
  const proxy = await openSwallowingProxy(url);
  const other = openForTest(url);
  const channel = createChangeChannel(proxy.url, () => Promise.resolve(), { waitMs: 50, silenceMs: 1000 });
  const watched = watch(other, channel.watch);
  await watched.untilQuiet();
  const first = watched.count();
  proxy.passNew();
  await until('it listens again', watched.count, (calls) => calls > first);
}, 60_000);

const listeners = sql`from pg_stat_activity where datname = current_database() and query like 'listen %'`;

async function endListeners({ kysely }: Database): Promise<void> {
  await sql`select pg_terminate_backend(pid) ${listeners}`.execute(kysely);
}

async function countListeners({ kysely }: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count ${listeners}`.execute(kysely);
  return rows[0]?.count ?? 0;
}
