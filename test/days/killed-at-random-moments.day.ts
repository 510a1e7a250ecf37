import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { type BridgeSetup, launchBridge, startBridge, writeBridgeConfig } from '../support/bridge-process.ts';
import { openBridgeState } from '../support/bridge-state.ts';
import { describeEachDialect } from '../support/databases.ts';
import { createFolder } from '../support/folder.ts';
import { createRandom } from '../support/random.ts';
import { listRoster } from '../support/roster.ts';
import { membersOf, startTraffic, type Traffic } from '../support/traffic.ts';
import { tries } from '../support/tries.ts';
import { until } from '../support/until.ts';

const kills = Number(process.env['GANGWAY_KILLS'] ?? tries(25));
/** This many must hit it at work. Further kills make up for those that did not: they wait until it is at work. */
const fewestInterrupted = Math.floor(kills / 5) + 1;
const mostKills = kills * 4;
const seed = Number(process.env['GANGWAY_SEED'] ?? randomInt(2 ** 31));

/** Of a process that is ready; the longer, the more of them had not come to anything. */
const shortLifeMs = 400;
const longLifeMs = 4000;
/** More ends in ten minutes than any brake would let pass. */
const unbraked = { removals: { max: 100_000, maxFraction: 1 } };
/** Of all kills, this share comes before the process is ready. */
const shareWhileStarting = 0.2;
const longestStartMs = 600;

describeEachDialect(`killed at ${kills} random moments (seed ${seed})`, (dialect) => {
  it(
    'loses nothing it answered for, and brings the roster in line',
    async () => {
      const random = createRandom(seed);
      const databaseUrl = await dialect.createMigrated();
      const setup = writeBridgeConfig(createFolder(), databaseUrl, undefined, unbraked);
      const state = openBridgeState(setup.databaseUrl);
      const first = await startBridge(setup);
      const traffic = startTraffic(random, first.url);
      expect(await first.stop()).toBe(0);

      let interrupted = 0;
      let lifeMs = shortLifeMs;
      let count = 0;
      for (; count < kills || (interrupted < fewestInterrupted && count < mostKills); count += 1) {
        const atWork = count < kills ? undefined : () => isAtWork(state.database);
        await liveAndDie(setup, traffic, random, { lifeMs, atWork });
        const leased = await letLeasesRunOut(state.database);
        interrupted += leased;
        lifeMs = leased > 0 ? shortLifeMs : Math.min(lifeMs * 1.5, longLifeMs);
      }

      const last = await startBridge(setup);
      traffic.sendTo(last.url);
      // On a busy machine little gets through between two kills.
      const countAnswered = () => traffic.answered.size;
      await until('there was load', countAnswered, (count) => count > kills * 5);
      await traffic.stop();
      await state.settled();

      const stored = await state.stored();
      const bodies = new Set(stored.map(({ body }) => body));
      expect(stored).toHaveLength(bodies.size);
      expect([...traffic.answered].filter((body) => !bodies.has(body))).toEqual([]);
      expect(stored.filter(({ state: is }) => is !== 'handled')).toEqual([]);
      expect(listRoster(setup.rosterFile)).toEqual(membersOf(bodies));
      // Whether a member was in long enough to be taken out again is for the seed to say.
      expect(['active', 'removed']).toEqual(expect.arrayContaining(await listStates(state.database)));

      // The journey was one: there was load, and the kills interrupted it.
      expect(traffic.countFailed()).toBeGreaterThan(kills);
      expect(interrupted).toBeGreaterThanOrEqual(fewestInterrupted);
      expect(await last.stop()).toBe(0);
    },
    600_000 + mostKills * 4000,
  );
});

interface Life {
  /** At most so long, once it is ready. */
  lifeMs: number;
  /** What the kill waits for after that. */
  atWork: (() => Promise<boolean>) | undefined;
}

async function liveAndDie(setup: BridgeSetup, traffic: Traffic, random: () => number, { lifeMs, atWork }: Life) {
  const { ready, kill } = launchBridge(setup);
  if (random() < shareWhileStarting && atWork === undefined) {
    await wait(random() * longestStartMs);
  } else {
    traffic.sendTo((await ready).url);
    await wait(random() * lifeMs);
    if (atWork !== undefined) await until('it is at work', atWork, (is) => is);
  }
  await kill();
}

/**
 * Nothing of it lives any more: this is half a minute later, without the waiting.
 *
 * @returns how many memberships it was at work on when it died
 */
async function letLeasesRunOut({ kysely }: Database): Promise<number> {
  const leasedUntil = new Date().toISOString();
  await kysely.updateTable('namedLock').set({ leasedUntil }).execute();
  const { numUpdatedRows } = await kysely
    .updateTable('membership')
    .set({ leasedUntil })
    .where('leaseToken', 'is not', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

async function isAtWork({ kysely }: Database): Promise<boolean> {
  const leased = kysely.selectFrom('membership').select('id').where('leaseToken', 'is not', null);
  return (await leased.limit(1).execute()).length > 0;
}

/** The states there are. `released` would be a member of ours that it took for a stranger. */
async function listStates({ kysely }: Database): Promise<string[]> {
  const rows = await kysely.selectFrom('membership').select('state').distinct().execute();
  return rows.map(({ state }) => state).sort();
}
