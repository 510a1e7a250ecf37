import { expect, it } from 'vitest';
import { recountDue, refreshDue } from '../../../src/usage/due/refresh-due.ts';
import { createReportWorker } from '../../../src/usage/report/report-worker.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { openOneWorker } from '../../support/one-worker.ts';
import { until } from '../../support/until.ts';
import { createWorkReader } from '../../support/usage-harness.ts';

const hourMs = 3_600_000;

describeEachDatabase('a recount', (openFresh) => {
  /** A due minute, and four held hours from before the contract. */
  async function openWork() {
    const world = await openOneWorker(await openFresh(), '2026-04-01T14:00:00.000Z');
    const { engine, ctx } = world;
    world.work('early', 14_400, { at: '2026-04-01T07:00:00.000Z' });
    world.work('a', 60);
    await world.read();
    await refreshDue(ctx);
    const { kysely } = engine.database;
    const stored = async () => [await engine.rows('usageDue'), await engine.rows('usageHeld')];
    return { ...world, kysely, stored };
  }

  it('corrects nothing after a refresh, also if work has changed since', async () => {
    const { ctx, work, read, stored } = await openWork();
    expect(await recountDue(ctx)).toEqual([]);
    const before = await stored();
    work('b', 30);
    await read();
    expect(await recountDue(ctx)).toEqual([]);
    expect(await stored()).not.toEqual(before);
  });

  it.each<[what: string, day: string, change: (world: Awaited<ReturnType<typeof openWork>>) => Promise<unknown>]>([
    ['counts', '2026-04-01', ({ kysely }) => kysely.updateTable('usageDue').set({ seconds: 3600 }).execute()],
    ['a lost day', '2026-04-01', ({ kysely }) => kysely.deleteFrom('usageDue').execute()],
    [
      'a day without any source',
      '2026-03-31',
      ({ kysely }) =>
        kysely
          .insertInto('usageDue')
          .columns(['install', 'contractId', 'trainerId', 'day', 'seconds', 'timeZone', 'isPartial', 'isOpen'])
          .expression((eb) =>
            eb
              .selectFrom('usageDue')
              .select(['install', 'contractId', 'trainerId', eb.val('2026-03-31').as('day'), 'seconds', 'timeZone'])
              .select(['isPartial', 'isOpen']),
          )
          .execute(),
    ],
    ['wrong held work', '2026-04-01', ({ kysely }) => kysely.updateTable('usageHeld').set({ seconds: 1 }).execute()],
    ['lost held work', '2026-04-01', ({ kysely }) => kysely.deleteFrom('usageHeld').execute()],
    [
      'a trainer without any source',
      '2026-04-01',
      async ({ kysely }) => {
        await kysely.deleteFrom('usageDay').execute();
        await kysely.deleteFrom('usageItem').execute();
      },
    ],
  ])('finds and corrects %s', async (what, day, change) => {
    const world = await openWork();
    const { ctx, stored, trainerId } = world;
    const before = await stored();
    await change(world);
    expect(await recountDue(ctx)).toEqual([{ trainerId, days: [day] }]);
    expect(await stored()).toEqual(what.startsWith('a trainer') ? [[], []] : before);
    expect(await recountDue(ctx)).toEqual([]);
  });

  it('runs each night, and raises an alert if it corrected something', async () => {
    const { ctx, engine, kysely, reported } = await openWork();
    startLoops(
      createWorkReader(ctx),
      createReportWorker(ctx, async () => undefined),
    );
    const ticks = async () => JSON.stringify(await engine.rows('setting'));
    await until('the schedule is known', ticks, (rows) => rows.includes('usage_reported_tick'));
    const alerts = () => engine.log.lines().filter((line) => (line as { alert?: string }).alert === 'usage_miscounted');
    const nextTick = async (hours: number) => {
      const before = await ticks();
      engine.clock.advance(hours * hourMs);
      await until('it is reported', ticks, (now) => now !== before && isReported(now));
    };
    await nextTick(1);
    await until('the day is known', ticks, (rows) => rows.includes('usage_recounted_at'));
    expect([reported(), alerts()]).toEqual([{ '2026-04-01': 60 }, []]);
    await kysely.updateTable('usageDue').set({ seconds: 3600 }).execute();
    await nextTick(24);
    await until(
      'it is mended',
      () => engine.rows('usageDue'),
      (rows) => JSON.stringify(rows).includes('"seconds":60'),
    );
    await until('the alert is raised', alerts, (all) => all.length === 1);
    expect(alerts()).toMatchObject([{ trainers: 1, days: 1 }]);
  });
});

/** Whether the last tick was reported. */
function isReported(settings: string): boolean {
  const rows = JSON.parse(settings) as { name: string; value: string }[];
  const settingOf = (name: string) => rows.find((row) => row.name === name)?.value;
  return settingOf('usage_tick') === settingOf('usage_reported_tick');
}
