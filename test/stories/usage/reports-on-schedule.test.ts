import { expect, it } from 'vitest';
import { createReportWorker } from '../../../src/usage/report/report-worker.ts';
import { startLoops } from '../../support/engine-harness.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';
import { createWorkReader, openUsageWorld } from '../../support/usage-harness.ts';

const halfHourMs = 30 * 60_000;

describeAnyDatabase('on schedule', (openFresh) => {
  /** A trainer is hired, their work scope was read once, and two instances run. */
  async function openBridge() {
    const world = await openUsageWorld(await openFresh());
    const { ctx } = world;
    const onAnswer = async () => undefined;
    await world.link('signs');
    const hired = world.hire();
    await world.learn();
    startLoops(
      ...[createWorkReader(ctx), createWorkReader(ctx)],
      ...[createReportWorker(ctx, onAnswer), createReportWorker(ctx, onAnswer)],
    );
    await until(
      'the new work scope is read',
      () => world.tool.requests.length,
      (count) => count === 1,
    );
    const known = async () => JSON.stringify(await world.engine.rows('setting'));
    await until('the schedule is known', known, (rows) => rows.includes('usage_reported_tick'));
    return { ...world, ...hired };
  }

  it.each([
    ['as it is due', halfHourMs],
    ['when the bridge was away as it was due', 20 * halfHourMs],
  ])('work is read, and then reported by one of several instances, %s', async (_when, passedMs) => {
    const { engine, tool, requests, consumed, contractId, memberId } = await openBridge();
    const at = engine.clock.now().toISOString();
    tool.items.set('signs', new Map([['a', { memberId, seconds: 60, labels: 1, at }]]));
    engine.clock.advance(passedMs);
    await until(
      'it is reported',
      () => consumed(contractId).seconds,
      (seconds) => seconds === 60,
    );
    expect(consumed(contractId)).toEqual({ seconds: 60, tasks: 1, labels: 1 });
    expect(requests).toHaveLength(1);
    expect(tool.requests).toHaveLength(2);
  });
});
