import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { describe, it, onTestFinished } from 'vitest';
import { postgres } from '../support/databases.ts';
import { openOwnPostgres } from '../support/postgres-server.ts';
import { createRandom } from '../support/random.ts';
import { openSwallowingProxy } from '../support/swallowing-proxy.ts';
import { until } from '../support/until.ts';
import { kills, limitMs, seed, tell } from './crash-runs.ts';
import { openBusyWorld, untilAnswered } from './crash-world.ts';

/** Short and random, so that every kind of moment is hit. */
const longestPauseMs = 50;
const restarts = Math.ceil(kills / 20);

describe(`a PostgreSQL that fails (seed ${seed})`, () => {
  it(
    `is used again after ${kills} connections were terminated at random moments`,
    async () => {
      const random = createRandom(seed);
      const databaseUrl = await postgres.createMigrated();
      const { traffic, bridge, expectRight } = await openBusyWorld(databaseUrl, random);
      const server = await connect(databaseUrl);
      for (let count = 0; count < kills; count += 1) {
        await wait(random() * longestPauseMs);
        await until(
          'one was terminated',
          () => terminateOne(server),
          (terminated) => terminated > 0,
        );
      }
      await expectRight();
      const troubles = bridge.log().filter(({ level }) => level !== 'info');
      tell(`${kills} connections terminated; ${traffic.answered.size} deliveries, ${troubles.length} troubles logged`);
    },
    limitMs,
  );

  it(
    `is used again after ${restarts} immediate shutdowns`,
    async () => {
      const random = createRandom(seed);
      const server = await openOwnPostgres();
      const { traffic, expectRight } = await openBusyWorld(server.databaseUrl, random);
      for (let count = 0; count < restarts; count += 1) {
        await wait(random() * longestPauseMs);
        await server.restart();
        await untilAnswered(traffic);
      }
      await expectRight();
      tell(`${restarts} immediate stops; ${traffic.answered.size} deliveries`);
    },
    limitMs,
  );

  it(
    'is used again after a network that silently dropped everything',
    async () => {
      const proxied = await postgres.createMigrated();
      const proxy = await openSwallowingProxy(proxied);
      const { traffic, expectRight } = await openBusyWorld(proxied, createRandom(seed), proxy.url);
      proxy.swallow();
      const failed = traffic.countFailed();
      await until('deliveries are refused', traffic.countFailed, (count) => count > failed);
      proxy.passNew();
      await untilAnswered(traffic);
      await expectRight();
    },
    limitMs,
  );
});

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** @returns how many it terminated: 0 or 1 */
async function terminateOne(server: pg.Client): Promise<number> {
  const { rowCount } = await server.query(`
    select pg_terminate_backend(pid) from (
      select pid from pg_stat_activity
      where datname = current_database() and application_name = 'gangway'
      order by random() limit 1) as gangway`);
  return rowCount ?? 0;
}
