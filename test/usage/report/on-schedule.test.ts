import { expect, it } from 'vitest';
import { createReadUsageWorker } from '../../../src/usage/read/read-usage-worker.ts';
import { createReportWorker } from '../../../src/usage/report/report-worker.ts';
import { describeEachDatabase } from '../../support/databases.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { until } from '../../support/until.ts';
import { openUsageWorld } from '../../support/usage-harness.ts';

const halfHourMs = 30 * 60_000;

describeEachDatabase('on schedule', (openFresh) => {
  it('work is read and reported by one of several instances', async () => {
    const world = await openUsageWorld(await openFresh());
    const { engine, usage, tool, requests, consumed } = world;
    const { deps } = usage;
    await world.link('signs');
    const { contractId, memberId } = world.hire();
    await world.learn();
    startLoops(
      ...[createReadUsageWorker(deps, 'studio'), createReadUsageWorker(deps, 'studio')],
      ...[createReportWorker(deps), createReportWorker(deps)],
    );
    await until(
      'the new place is read',
      () => tool.requests.length,
      (count) => count === 1,
    );
    const known = async () => JSON.stringify(await engine.rows('setting'));
    await until('the schedule is known', known, (rows) => rows.includes('usage_reported_tick'));
    const at = engine.clock.now().toISOString();
    tool.items.set('signs', new Map([['a', { memberId, seconds: 60, labels: 1, at }]]));
    engine.clock.advance(halfHourMs);
    const done = { seconds: 60, tasks: 1, labels: 1 };
    await until(
      'it is reported',
      () => consumed(contractId).seconds,
      (seconds) => seconds === 60,
    );
    expect(consumed(contractId)).toEqual(done);
    expect(requests).toHaveLength(1);
    expect(tool.requests).toHaveLength(2);
  });
});
