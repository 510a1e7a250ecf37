import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { convergeLeaseMs } from '../../src/converge/claim-store.ts';
import { voidLeases } from '../../src/db/alive-lock.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { type BridgeSetup, launchBridge, startBridge } from '../support/bridge-process.ts';
import { openBridgeState } from '../support/bridge-state.ts';
import { describeEachDialect } from '../support/databases.ts';
import { createRandom } from '../support/random.ts';
import { startTraffic, type Traffic } from '../support/traffic.ts';
import { until } from '../support/until.ts';
import { kills, limitMs, seed, tell } from './crash-runs.ts';
import { type CrashWorld, expectWholeFile, openCrashWorld } from './crash-world.ts';

/** At least this many kills must hit a bridge at work. If too few did, further kills wait until it is at work. */
const fewestInterrupted = Math.floor(kills / 5) + 1;
/** Slow enough that the deliveries between two kills are also handled between two kills. */
const pauseMs = 200;
/** How long a process that is ready lives. It grows while kills find no work. */
const shortLifeMs = 400;
const longLifeMs = 4000;
/** This share of kills comes before the process is ready. */
const shareWhileStarting = 0.2;
const longestStartMs = 600;

describeEachDialect(`killed at ${kills} random moments (seed ${seed})`, (dialect) => {
  it(
    'loses no answered delivery, removes nobody by mistake, does everything once, and resumes at once',
    async () => {
      const random = createRandom(seed);
      const world = await openCrashWorld(await dialect.createMigrated());
      const { setup } = world;
      const state = openBridgeState(setup.databaseUrl);
      const deaths = dialect.name === 'sqlite' ? deathsOnSqlite : deathsOnPostgres;
      const first = await startBridge(setup);
      await world.hireForGood(first.url);
      const hires = world.tool.calls.length;
      const traffic = startTraffic(random, first.url, { pauseMs });
      await first.kill();

      const { count, interrupted } = await killOften(world, traffic, random, { database: state.database, deaths });

      const last = await startBridge(setup);
      traffic.sendTo(last.url);
      // On a busy machine little is done between two kills.
      const countChanges = () => world.tool.calls.slice(hires).filter(({ method }) => method !== 'GET').length;
      await until('there was work', countChanges, (changes) => changes > count);
      await traffic.stop();
      await world.expectRight(state, traffic);
      await deaths.expectWhole(state.database);

      expect(traffic.countFailed()).toBeGreaterThan(count);
      expect(await last.stop()).toBe(0);
      const did = `${traffic.answered.size} deliveries, ${countChanges()} additions and removals`;
      tell(`${dialect.name}: ${count} kills, ${interrupted} at work; ${did}, ${world.countRepeated()} sent again`);
    },
    limitMs,
  );
});

interface Killing {
  database: Database;
  deaths: Deaths;
}

/** @returns how many processes were killed, and how many of them at work */
async function killOften(
  { setup, expectKept }: CrashWorld,
  traffic: Traffic,
  random: () => number,
  { database, deaths }: Killing,
) {
  let interrupted = 0;
  let lifeMs = shortLifeMs;
  let dead = await leasesOf(database);
  let count = 0;
  for (; count < kills || interrupted < fewestInterrupted; count += 1) {
    await deaths.passed(database);
    const look = () => deaths.expectFreed(database, dead);
    const atWork = count < kills ? undefined : async () => isAtWork(await leasesOf(database));
    await liveAndDie(setup, traffic, random, { lifeMs, look, atWork });
    expectKept();
    dead = await leasesOf(database);
    const wasAtWork = isAtWork(dead);
    if (wasAtWork) interrupted += 1;
    lifeMs = wasAtWork ? shortLifeMs : Math.min(lifeMs * 1.5, longLifeMs);
  }
  return { count, interrupted };
}

interface Life {
  /** At most this long after it is ready. */
  lifeMs: number;
  /** Called as soon as it is ready. */
  look(): Promise<void>;
  /** If given, the kill waits for it. */
  atWork: (() => Promise<boolean>) | undefined;
}

async function liveAndDie(
  setup: BridgeSetup,
  traffic: Traffic,
  random: () => number,
  { lifeMs, look, atWork }: Life,
): Promise<void> {
  const { ready, kill } = launchBridge(setup);
  if (random() < shareWhileStarting && atWork === undefined) {
    await wait(random() * longestStartMs);
  } else {
    traffic.sendTo((await ready).url);
    await look();
    await wait(random() * lifeMs);
    if (atWork !== undefined) await until('it is at work', atWork, (is) => is);
  }
  await kill();
}

/** What a killed process leaves to the next one. */
interface Deaths {
  passed(database: Database): Promise<void>;
  /** @param dead the leases of the killed process */
  expectFreed(database: Database, dead: readonly Lease[]): Promise<void>;
  expectWhole(database: Database): Promise<void>;
}

/** The file lock dies with its process, so the next one resumes at once. */
const deathsOnSqlite: Deaths = {
  passed: async () => undefined,
  async expectFreed(database, dead) {
    expect(await waitingFor(database, dead)).toEqual([]);
  },
  expectWhole: expectWholeFile,
};

/** Leases expire after half a minute. To save the wait they are voided, except those of calls in progress. */
const deathsOnPostgres: Deaths = {
  passed: (database) => inTransaction(database, (tx) => voidLeases(tx, new Date().toISOString())),
  expectFreed: async () => undefined,
  expectWhole: async () => undefined,
};

interface Lease {
  of: 'named_lock' | 'membership';
  id: string;
  token: string;
}

/** The leases of the process that runs or ran last. */
async function leasesOf({ kysely }: Database, now = new Date()): Promise<Lease[]> {
  const instant = now.toISOString();
  const { rows } = await sql<Lease>`
    select 'named_lock' as of, name as id, token from named_lock where leased_until > ${instant}
    union all select 'membership', cast(id as text), lease_token from membership
      where leased_until > ${instant} and lease_token is not null`.execute(kysely);
  return rows;
}

function isAtWork(leases: readonly Lease[]): boolean {
  return leases.some(({ of }) => of === 'membership');
}

/** The leases of a killed process that are still held, except for a call to the tool that may still arrive. */
async function waitingFor(database: Database, dead: readonly Lease[]): Promise<Lease[]> {
  const now = new Date();
  const keyOf = ({ of, id, token }: Lease) => `${of} ${id} ${token}`;
  const known = new Set(dead.map(keyOf));
  const held = (await leasesOf(database, now)).filter((lease) => known.has(keyOf(lease)));
  const since = new Date(now.getTime() - convergeLeaseMs).toISOString();
  const intents = database.kysely.selectFrom('intent').select('membershipId').where('createdAt', '>', since);
  const mayBeCalling = new Set((await intents.execute()).map(({ membershipId }) => String(membershipId)));
  return held.filter(({ of, id }) => of === 'named_lock' || !mayBeCalling.has(id));
}
