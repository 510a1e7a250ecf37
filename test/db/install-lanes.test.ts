import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createInstallLanes, type LaneHold } from '../../src/db/install-lanes.ts';
import { holdLock } from '../../src/db/lock.ts';
import { instantIn } from '../../src/lib/clock.ts';
import { startLoops } from '../support/engine-harness.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { createLogLines } from '../support/log-lines.ts';
import { describeAnyDatabase } from '../support/tries.ts';
import { until } from '../support/until.ts';

const leaseMs = 60_000;

/** Instances whose work for an install ends when the test says so. */
function openInstances(database: Database) {
  const clock = createFakeClock();
  const due = new Set<string>();
  const underway = new Map<string, { end: () => void; hold: LaneHold }>();
  let [now, most, begun] = [0, 0, 0];
  const start = () => {
    const loop = createInstallLanes(
      { database, clock, logger: createLogLines().logger, pollMs: 5 },
      {
        name: 'work',
        atOnce: 4,
        stallMs: 1_000_000,
        leaseMs,
        due: async () => [...due],
        async work(install, signal, hold) {
          if (!due.has(install)) return;
          const ended = new AbortController();
          underway.set(install, { hold, end: () => ended.abort() });
          now += 1;
          begun += 1;
          most = Math.max(most, now);
          await once(AbortSignal.any([ended.signal, signal]), 'abort');
          if (ended.signal.aborted) due.delete(install);
          now -= 1;
        },
      },
    );
    startLoops(loop);
    return loop;
  };
  const untilBegun = (count: number) =>
    until(
      `${count} are begun`,
      () => begun,
      (seen) => seen >= count,
    );
  return { clock, due, underway, start, untilBegun, counts: () => ({ most, begun }) };
}

describeAnyDatabase('work for installs', (openFresh) => {
  it('is done by one of several instances, for each install once at a time', async () => {
    const { due, underway, start, untilBegun, counts } = openInstances(await openFresh());
    due.add('acme').add('globex');
    for (let count = 0; count < 3; count += 1) start();
    await untilBegun(2);
    for (const { end } of underway.values()) end();
    await until(
      'nothing is due',
      () => due.size,
      (left) => left === 0,
    );
    expect(counts()).toEqual({ most: 2, begun: 2 });
  });

  it('is left to others by an instance that stops', async () => {
    const { start, due, untilBegun } = openInstances(await openFresh());
    due.add('acme');
    const first = start();
    await untilBegun(1);
    start();
    await first.stop();
    await untilBegun(2);
  });

  it('is taken over when its lease has run out, and the one that had it is told', async () => {
    const database = await openFresh();
    const { clock, due, underway, start, untilBegun, counts } = openInstances(database);
    const take = (ms: number) =>
      holdLock(database, 'work:acme', 'dead', clock.now().toISOString(), instantIn(clock, ms));
    await take(leaseMs);
    due.add('acme').add('globex');
    start();
    await untilBegun(1);
    expect([...underway.keys()]).toEqual(['globex']);
    clock.advance(leaseMs);
    await untilBegun(2);
    await underway.get('acme')?.hold.renew();
    clock.advance(leaseMs);
    expect(await take(leaseMs)).toBe(true);
    await expect(underway.get('acme')?.hold.renew()).rejects.toThrow('another process holds it now');
    expect(counts().begun).toBe(2);
  });
});
