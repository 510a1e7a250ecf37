import { expect, it } from 'vitest';
import type { Context } from '../../../src/context.ts';
import { inTransaction } from '../../../src/db/database.ts';
import { dropJob } from '../../../src/jobs/job-store.ts';
import { createJobWorker } from '../../../src/jobs/job-worker.ts';
import { lastTick, nextTick } from '../../../src/lib/days.ts';
import { scheduleJob } from '../../../src/reconcile/runs/schedule-jobs.ts';
import { createEngine, inStudio, startLoops } from '../../support/engine-harness.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

const minuteMs = 60_000;

it.each([
  ['12:00:00.000', '12:00:00.000', '12:15:00.000'],
  ['12:14:59.999', '12:00:00.000', '12:15:00.000'],
  ['12:15:00.001', '12:15:00.000', '12:30:00.000'],
  ['00:03:00.000', '00:00:00.000', '00:15:00.000'],
])('at %s the schedule was last due at %s and is due again at %s', (now, last, next) => {
  const at = (time: string) => `2026-03-15T${time}Z`;
  expect(lastTick('*/15 * * * *', new Date(at(now)))).toBe(at(last));
  expect(nextTick('*/15 * * * *', new Date(at(now)))).toBe(at(next));
});

describeAnyDatabase('a schedule', (openFresh) => {
  async function open() {
    const engine = createEngine(await openFresh(), {
      installs: new Map([
        ['acme', inStudio()],
        ['globex', inStudio()],
      ]),
    });
    const { config } = engine;
    const onSchedule = (schedule: string): Context => {
      return { ...engine, pollMs: 5, config: { ...config, reconcile: { schedule } } };
    };
    const start = (ctx = onSchedule('*/15 * * * *')) => startLoops(createJobWorker(ctx, [scheduleJob]));
    const readsDue = async () => (await rowsOf('reconcile')).map(({ key, dueAt }) => `${key} ${dueAt.slice(11, 19)}`);
    const rowsOf = (kind: string) =>
      engine.database.kysely.selectFrom('job').selectAll().where('kind', '=', kind).execute();
    const untilDueAt = (at: string) =>
      until(
        `the schedule is due at ${at}`,
        () => rowsOf('schedule'),
        ([job]) => job?.dueAt.slice(11, 19) === at && job.leasedUntil === null,
      );
    return { engine, onSchedule, start, readsDue, untilDueAt };
  }

  it('has every install read at each tick from the first start on, once for ticks that were missed', async () => {
    const { engine, start, readsDue, untilDueAt } = await open();
    start();
    await untilDueAt('12:15:00');
    expect(await readsDue()).toEqual([]);
    engine.clock.advance(100 * minuteMs);
    await untilDueAt('13:45:00');
    expect(await readsDue()).toEqual(['acme 13:40:00', 'globex 13:40:00']);
    expect(await engine.rows('installState')).toMatchObject([
      { readWantedBy: 'schedule' },
      { readWantedBy: 'schedule' },
    ]);
  });

  it('is kept by one of several instances', async () => {
    const { engine, start, readsDue, untilDueAt } = await open();
    for (let instance = 0; instance < 4; instance += 1) start();
    await untilDueAt('12:15:00');
    engine.clock.advance(15 * minuteMs);
    await untilDueAt('12:30:00');
    await inTransaction(engine.database, (tx) => dropJob(tx, 'reconcile', 'acme'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await readsDue()).toEqual(['globex 12:15:00']);
  });

  it('that was changed is kept from the next start on', async () => {
    const { start, onSchedule, untilDueAt } = await open();
    start(onSchedule('0 0 * * *'));
    await untilDueAt('00:00:00');
    start(onSchedule('*/5 * * * *'));
    await untilDueAt('12:05:00');
  });
});
