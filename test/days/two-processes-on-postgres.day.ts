import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { acmeSecret, startBridge, writeBridgeConfig } from '../support/bridge-process.ts';
import { openBridgeState } from '../support/bridge-state.ts';
import { postgres } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { createRandom } from '../support/random.ts';
import { countAnswers, distinct, sendRepeatedly } from '../support/repeated-load.ts';
import { listRoster } from '../support/roster.ts';
import { membersOf, startTraffic } from '../support/traffic.ts';
import { tries } from '../support/tries.ts';
import { until } from '../support/until.ts';

const cuts = Number(process.env['GANGWAY_CUTS'] ?? tries(100));
/** After a member came or went: so that all kinds of moments are met. */
const longestPauseMs = 50;
/** More ends in ten minutes than any brake would let pass. */
const unbraked = { removals: { max: 100_000, maxFraction: 1 } };

describe('two processes on PostgreSQL', () => {
  it('store and add once what comes four times, through both at once', async () => {
    const databaseUrl = await postgres.createMigrated();
    const setup = writeBridgeConfig(createFolder(), databaseUrl);
    const state = openBridgeState(databaseUrl);
    const bridges = await Promise.all([startBridge(setup), startBridge(setup)]);

    const urls = bridges.map(({ url }) => url);
    const release = await holdDeliveries(databaseUrl);
    const { answers, members } = await sendRepeatedly(urls, acmeSecret, release);
    expect(countAnswers(answers)).toEqual({ '200 accepted': distinct, '200 duplicate': 3 * distinct });
    expect(await state.countDeliveries()).toBe(distinct);

    await state.settled();
    expect(listRoster(setup.rosterFile)).toEqual(members);
    expect(await state.countReceipts()).toEqual({ added: members.length });

    expect(await Promise.all(bridges.map((bridge) => bridge.stop()))).toEqual([0, 0]);
    for (const bridge of bridges) expect(troublesOf(bridge.log())).toEqual([]);
    // A session reports what it counted at the latest when it ends.
    expect(await countDeadlocks(databaseUrl)).toBe(0);
  });

  it(
    `outlive that all their connections are terminated, ${cuts} times under deliveries`,
    async () => {
      const databaseUrl = await postgres.createMigrated();
      const setup = writeBridgeConfig(createFolder(), databaseUrl, undefined, unbraked);
      const bridges = await Promise.all([startBridge(setup), startBridge(setup)]);
      const server = await connect();
      const random = createRandom(cuts);
      const [first, second] = bridges;
      const traffic = startTraffic(random, first.url, { pauseMs: 200 });
      traffic.sendTo(first.url, second.url);
      let roster = '';
      for (let count = 0; count < cuts; count += 1) {
        // Everything is at work again: what was sent is stored, and a member came or went by it.
        const readRoster = () => listRoster(setup.rosterFile).join();
        roster = await until('a member came or went', readRoster, (seen) => seen !== roster);
        await wait(random() * longestPauseMs);
        const terminate = () => terminateAll(server, databaseUrl);
        await until('connections were terminated', terminate, (terminated) => terminated > 0);
      }
      await traffic.stop();
      const state = openBridgeState(databaseUrl);
      // What was claimed by a statement that was cut off waits until its lease has run out.
      await state.settled();

      const stored = await state.stored();
      const bodies = new Set(stored.map(({ body }) => body));
      expect(stored).toHaveLength(bodies.size);
      expect([...traffic.answered].filter((body) => !bodies.has(body))).toEqual([]);
      expect(stored.filter(({ state: is }) => is !== 'handled')).toEqual([]);
      expect(listRoster(setup.rosterFile)).toEqual(membersOf(bodies));

      // The journey was one: connections were lost while they were used.
      const troubles = bridges.flatMap((bridge) => troublesOf(bridge.log()));
      expect(troubles.length).toBeGreaterThan(cuts / 2);
      for (const { consoleUrl } of bridges) {
        expect((await fetch(`${consoleUrl}/readyz`)).status).toBe(200);
      }
      expect(await Promise.all(bridges.map((bridge) => bridge.stop()))).toEqual([0, 0]);
    },
    600_000 + cuts * 4000,
  );
});

/** To the server, by a connection to another database than those of tests. */
async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: `${inject('postgres').url}postgres` });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** @returns how many there were */
async function terminateAll(server: pg.Client, databaseUrl: string): Promise<number> {
  const { rowCount } = await server.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
    new URL(databaseUrl).pathname.slice(1),
  ]);
  return rowCount ?? 0;
}

function troublesOf(log: Record<string, unknown>[]): unknown[] {
  return log.filter(({ level }) => level !== 'info');
}

/**
 * No process can store a delivery until all have come in, and then it takes a moment: both processes
 * are sure to store the same ones at the same time.
 */
async function holdDeliveries(databaseUrl: string): Promise<() => void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    create function pause() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.001); return new; end $$;
    create trigger pause before insert on delivery for each row execute function pause();`);
  await client.query('begin');
  await client.query('lock table delivery in exclusive mode');
  return () => void client.end();
}

async function countDeadlocks(databaseUrl: string): Promise<number> {
  const name = new URL(databaseUrl).pathname.slice(1);
  const client = new pg.Client({ connectionString: `${inject('postgres').url}postgres` });
  await client.connect();
  try {
    const { rows } = await client.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = $1',
      [name],
    );
    return Number(rows[0]?.deadlocks);
  } finally {
    await client.end();
  }
}
