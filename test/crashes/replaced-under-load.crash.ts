import { expect, it, onTestFinished } from 'vitest';
import { type BridgeProcess, type BridgeSetup, startBridge } from '../support/bridge-process.ts';
import { openBridgeState } from '../support/bridge-state.ts';
import { type Dialect, describeEachDialect } from '../support/databases.ts';
import { createRandom } from '../support/random.ts';
import { startTraffic, type Traffic } from '../support/traffic.ts';
import { kills, limitMs, seed, tell } from './crash-runs.ts';
import { openCrashWorld, untilAnswered } from './crash-world.ts';

const restarts = Math.ceil(kills / 20);
/** The sender retries all the time, so a bridge must start quickly enough for this. */
const longestRefusalMs = 10_000;
/** An address without a bridge. */
const nowhere = 'http://127.0.0.1:9/webhooks/acme';

describeEachDialect(`a bridge that is replaced under load (seed ${seed})`, (dialect) => {
  it(
    `loses nothing and is never unavailable for long, restarted ${restarts} times`,
    async () => {
      const databaseUrl = await dialect.createEmpty();
      const world = await openCrashWorld(databaseUrl);
      const traffic = startTraffic(createRandom(seed), nowhere);
      let bridge = await replace(dialect, world.setup, traffic, undefined);
      await world.hireForGood(bridge.url);
      await untilAnswered(traffic, 100);
      const longestMs = watchSpans(traffic);
      for (let count = 0; count < restarts; count += 1) {
        bridge = await replace(dialect, world.setup, traffic, bridge);
        await untilAnswered(traffic, 100);
        world.expectKept();
      }
      await traffic.stop();
      const all = Math.round(longestMs());
      await world.expectRight(openBridgeState(databaseUrl), traffic);
      expect(all).toBeLessThan(longestRefusalMs);
      expect(await bridge.stop()).toBe(0);
      tell(
        `${dialect.name}: ${traffic.answered.size} deliveries, none for ${all} ms at most; ${world.countRepeated()} calls repeated`,
      );
    },
    limitMs,
  );
});

/** Starts the next bridge: beside the old one on PostgreSQL, after it on SQLite. */
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

/** @returns the longest time so far without an answered delivery */
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
