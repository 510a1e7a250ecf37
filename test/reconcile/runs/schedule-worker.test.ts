import { expect, it } from 'vitest';
import { toInstant } from '../../../src/lib/clock.ts';
import { lastTick } from '../../../src/lib/days.ts';
import {
  claimInstallRead,
  listInstallStates,
  settleInstallRead,
} from '../../../src/reconcile/read/install-state-store.ts';
import { createScheduleWorker, wantTick } from '../../../src/reconcile/runs/schedule-worker.ts';
import { createEngine, startLoops } from '../../support/engine-harness.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;
const schedule = {
  pattern: '*/15 * * * *',
  tickName: 'reconcile_tick',
  choose: async () => ['acme', 'globex'],
} as const;

it.each([
  ['12:00:00.000', '12:00:00.000'],
  ['12:14:59.999', '12:00:00.000'],
  ['12:15:00.000', '12:15:00.000'],
  ['00:03:00.000', '00:00:00.000'],
])('at %s the schedule was last due at %s', (now, tick) => {
  const day = '2026-03-15T';
  expect(lastTick(schedule.pattern, new Date(`${day}${now}Z`))).toBe(`${day}${tick}Z`);
});

describeAnyDatabase('a schedule', (openFresh) => {
  async function open() {
    const engine = createEngine(await openFresh());
    let woken = 0;
    const wake = () => {
      woken += 1;
    };
    const tick = () => wantTick(engine, schedule, lastTick(schedule.pattern, engine.clock.now()));
    return { engine, ctx: { ...engine, wake }, tick, woken: () => woken };
  }

  it('asks for nothing before the first tick at which an instance runs', async () => {
    const { engine, tick } = await open();
    expect(await tick()).toBe(false);
    engine.clock.advance(14 * minuteMs);
    expect(await tick()).toBe(false);
    expect(await listInstallStates(engine)).toEqual([]);
  });

  it('asks for every install when it is due, and once for ticks that were missed', async () => {
    const { engine, tick } = await open();
    await tick();
    engine.clock.advance(100 * minuteMs);
    expect([await tick(), await tick()]).toEqual([true, false]);
    const readWantedAt = toInstant(engine.clock.now());
    expect(await listInstallStates(engine)).toMatchObject([
      { install: 'acme', readWantedAt },
      { install: 'globex', readWantedAt },
    ]);
    expect(await engine.rows('installState')).toMatchObject([
      { readWantedBy: 'schedule' },
      { readWantedBy: 'schedule' },
    ]);
  });

  it('does not double the reads of a tick where several instances see it', async () => {
    const { engine, tick } = await open();
    await tick();
    engine.clock.advance(15 * minuteMs);
    const asked = await Promise.all([1, 2, 3, 4].map(() => tick()));
    expect(asked.filter(Boolean)).toHaveLength(1);
  });

  it('does not ask again for what one of them had read meanwhile', async () => {
    const { engine, tick } = await open();
    await tick();
    engine.clock.advance(15 * minuteMs);
    await tick();
    const now = toInstant(engine.clock.now());
    const claim = await claimInstallRead(engine, now, now);
    if (claim !== null) await settleInstallRead(engine, claim, now);
    await tick();
    const wanted = (await listInstallStates(engine)).map((one) => [one.install, one.readWantedAt]);
    expect(wanted.filter(([, at]) => at === null)).toEqual([[claim?.install, null]]);
    expect(wanted.filter(([, at]) => at === now)).toHaveLength(1);
  });

  it('is kept by a loop, which wakes the reader', async () => {
    const { engine, ctx, woken } = await open();
    startLoops(createScheduleWorker(ctx, schedule), createScheduleWorker(ctx, schedule));
    const settings = async () => JSON.stringify(await engine.rows('setting'));
    await until('it knows the tick', settings, (rows) => rows.includes('reconcile_tick'));
    engine.clock.advance(15 * minuteMs);
    await until(
      'it wakes the reader',
      async () => woken(),
      (times) => times === 1,
    );
  });
});
