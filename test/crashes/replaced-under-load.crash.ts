import { expect, it, onTestFinished } from 'vitest';
import { type BridgeProcess, type BridgeSetup, startBridge } from '../support/bridge-process.ts';
import { openBridgeState } from '../support/bridge-state.ts';
import { type Dialect, describeEachDialect } from '../support/databases.ts';
import { leaveOld } from '../support/leave-old.ts';
import { type ContractEvent, minutesAgo } from '../support/lifecycle-events.ts';
import { createRandom } from '../support/random.ts';
import { startTraffic, type Traffic } from '../support/traffic.ts';
import { until } from '../support/until.ts';
import { kills, limitMs, seed, tell } from './crash-runs.ts';
import { type CrashWorld, openCrashWorld } from './crash-world.ts';

const restarts = Math.ceil(kills / 20);
/** The sender tries all the time. What one version leaves another to do first is to be small enough for this. */
const longestRefusalMs = 10_000;
const oldDeliveries = { pending: 200, handled: 20_000 };
/** The bundled program of an older version: then that one is replaced first, at work. */
const olderProgram = process.env['UPGRADE_FROM'];
/** Where no bridge is yet. */
const nowhere = 'http://127.0.0.1:9/webhooks/acme';

describeEachDialect(`a bridge that is replaced under load (seed ${seed})`, (dialect) => {
  it(
    `loses nothing and is never away for long: upgraded from an old schema, and restarted ${restarts} times`,
    async () => {
      const databaseUrl = await dialect.createEmpty();
      const world = await openCrashWorld(databaseUrl);
      const traffic = startTraffic(createRandom(seed), nowhere);
      const older = await startOlder(world, traffic);
      if (older === undefined) await leaveOld(databaseUrl, listOld());
      const longestMs = watchSpans(traffic);
      let bridge = await replace(dialect, world.setup, traffic, older);
      if (older === undefined) await world.hireForGood(bridge.url);
      await untilAnswered(traffic);
      const upgradedMs = longestMs();
      for (let count = 0; count < restarts; count += 1) {
        bridge = await replace(dialect, world.setup, traffic, bridge);
        await untilAnswered(traffic);
        world.expectKept();
      }
      await traffic.stop();
      const [upgrade, all] = [upgradedMs, longestMs()].map(Math.round);
      await world.expectRight(openBridgeState(databaseUrl), traffic);
      expect(all).toBeLessThan(longestRefusalMs);
      expect(await bridge.stop()).toBe(0);
      tell(
        `${dialect.name}: ${traffic.answered.size} deliveries, none for ${upgrade} ms in the upgrade, and for ${all} ms at most; ${world.countRepeated()} calls repeated`,
      );
    },
    limitMs,
  );
});

async function startOlder(world: CrashWorld, traffic: Traffic): Promise<BridgeProcess | undefined> {
  if (olderProgram === undefined) return undefined;
  const older = await startBridge({ ...world.setup, program: olderProgram });
  traffic.sendTo(older.url);
  await world.hireForGood(older.url);
  await untilAnswered(traffic);
  return older;
}

/** One takes over from another: beside it on PostgreSQL, after it on SQLite. */
async function replace(
  { name }: Dialect,
  setup: BridgeSetup,
  traffic: Traffic,
  leaving: BridgeProcess | undefined,
): Promise<BridgeProcess> {
  if (name === 'sqlite') expect((await leaving?.stop()) ?? 0).toBe(0);
  const next = await startBridge(setup);
  traffic.sendTo(next.url);
  if (name === 'postgres') expect((await leaving?.stop()) ?? 0).toBe(0);
  return next;
}

/** What was answered for by the old version, and not looked at; and more of it, as a table grows. */
function listOld(): { pending: ContractEvent[]; handled: ContractEvent[] } {
  const createdAt = minutesAgo(5);
  const make = (type: ContractEvent['type'], from: number) => (_: unknown, index: number) => ({
    type,
    number: from + index,
    contract: `old${from + index}`,
    trainer: `old${index}`,
    project: 'street-signs',
    createdAt,
  });
  return {
    pending: Array.from({ length: oldDeliveries.pending }, make('contract.started', 800_000_000)),
    handled: Array.from({ length: oldDeliveries.handled }, make('contract.ended', 700_000_000)),
  };
}

/** @returns how long at most no delivery was answered so far */
function watchSpans({ answered }: Traffic): () => number {
  let known = answered.size;
  let since = performance.now();
  let longest = 0;
  function look(): number {
    const now = performance.now();
    longest = Math.max(longest, now - since);
    if (answered.size !== known) since = now;
    known = answered.size;
    return longest;
  }
  const timer = setInterval(look, 10);
  onTestFinished(() => clearInterval(timer));
  return look;
}

async function untilAnswered({ answered }: Traffic): Promise<void> {
  const enough = answered.size + 100;
  await until(
    'deliveries are answered',
    () => answered.size,
    (size) => size > enough,
  );
}
