import { expect, it } from 'vitest';
import { reportUsage } from '../../../src/usage/report/report-usage.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld, type UsageWorld } from '../../support/usage-harness.ts';

const hourMs = 3_600_000;
const today = '2026-03-15';

describeAnyDatabase('trouble with work', (openFresh) => {
  async function openWork() {
    const world = await openUsageWorld(await openFresh(), { maxLoweredFraction: 0.2 });
    await world.link('signs');
    const hired = world.hire();
    await world.learn();
    world.engine.clock.advance(60_000);
    return { ...world, hired };
  }

  function work({ tool, engine }: UsageWorld, id: string, memberId: string, seconds: number) {
    const items = tool.items.get('signs') ?? new Map();
    const at = engine.clock.now().toISOString();
    tool.items.set('signs', items.set(id, { memberId, seconds, labels: 1, at }));
  }

  function alertsOf({ engine }: UsageWorld) {
    const lines = engine.log.lines() as { alert?: string; days?: number; hours?: number; oldest?: string }[];
    return lines
      .filter(({ alert }) => alert?.startsWith('usage_'))
      .map(({ alert, days, hours, oldest }) => [alert, days, hours, oldest]);
  }

  it('raises an alert when it is new, not with every run, and again after a day', async () => {
    const world = await openWork();
    const { engine, read, report, hired } = world;
    work(world, 'a', hired.memberId, 90_000);
    await read();
    expect(await report()).toMatchObject({ held: 1 });
    expect(await report()).toMatchObject({ held: 1 });
    expect(alertsOf(world)).toEqual([['usage_held', 1, 25, today]]);
    engine.clock.advance(23 * hourMs);
    work(world, 'b', hired.memberId, 90_000);
    await read();
    await report();
    await report();
    expect(alertsOf(world).slice(1)).toEqual([['usage_held', 2, 50, today]]);
    engine.clock.advance(23 * hourMs);
    await report();
    expect(alertsOf(world)).toHaveLength(2);
    engine.clock.advance(hourMs);
    await report();
    expect(alertsOf(world).slice(2)).toEqual([['usage_held', 2, 50, today]]);
  });

  it('raises an alert again when it comes back after it was over', async () => {
    const world = await openWork();
    const { engine, tool, read, report, hired } = world;
    work(world, 'a', hired.memberId, 3600);
    await read(true);
    await report();
    const lose = async () => {
      tool.items.get('signs')?.delete('a');
      await read(true);
      return await report();
    };
    const find = async () => {
      engine.clock.advance(60_000);
      work(world, 'a', hired.memberId, 3600);
      await read(true);
      return await report();
    };
    expect(await lose()).toMatchObject({ outcome: 'held', held: 1 });
    expect(await report()).toMatchObject({ outcome: 'held', held: 1 });
    expect(await find()).toMatchObject({ held: 0 });
    engine.clock.advance(60_000);
    expect(await lose()).toMatchObject({ outcome: 'held', held: 1 });
    expect(alertsOf(world)).toEqual([
      ['usage_held', 1, 1, today],
      ['usage_held', 1, 1, today],
    ]);
  });

  it('raises no second alert in another instance, or after a restart', async () => {
    const world = await openWork();
    const { sandbox, ctx, read, report, hired } = world;
    work(world, 'a', hired.memberId, 3600);
    await read();
    sandbox.replaceParticipant(hired.contractId, { leaves: hired.trainerId });
    expect(await report()).toMatchObject({ refused: 1 });
    const { signal } = new AbortController();
    const [again] = await reportUsage({ ...ctx }, async () => undefined, { installs: ['acme'] }, signal);
    expect(again).toMatchObject({ refused: 1, requests: 0 });
    expect(alertsOf(world)).toEqual([['usage_refused', 1, 1, today]]);
  });
});
