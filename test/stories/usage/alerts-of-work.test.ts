import { expect, it } from 'vitest';
import { createAlerting } from '../../support/alerting.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { openUsageWorld, type UsageWorld } from '../../support/usage-harness.ts';

const hourMs = 3_600_000;

describeAnyDatabase('trouble with work', (openFresh) => {
  async function openWork() {
    const alerting = createAlerting();
    const world = await openUsageWorld(await openFresh(), { maxLoweredFraction: 0.2, hears: alerting.hears });
    await world.link('signs');
    const hired = world.hire();
    await world.learn();
    world.engine.clock.advance(60_000);
    return { ...world, alerting, hired };
  }

  function work({ tool, engine }: UsageWorld, id: string, memberId: string, seconds: number) {
    const items = tool.items.get('signs') ?? new Map();
    const at = engine.clock.now().toISOString();
    tool.items.set('signs', items.set(id, { memberId, seconds, labels: 1, at }));
  }

  it('is announced when it is new, not on each run, and again after a day if it has grown', async () => {
    const world = await openWork();
    const { engine, read, report, hired, alerting } = world;
    const announced = async () => {
      await alerting.ask();
      return await alerting.announced('usage_held');
    };
    work(world, 'a', hired.memberId, 90_000);
    await read();
    expect(await report()).toMatchObject({ held: 1 });
    expect(await announced()).toEqual(['raised']);
    expect(await report()).toMatchObject({ held: 1 });
    engine.clock.advance(20 * hourMs);
    work(world, 'b', hired.memberId, 90_000);
    await read();
    expect(await report()).toMatchObject({ held: 2 });
    expect(await announced()).toEqual(['raised']);
    engine.clock.advance(4 * hourMs);
    expect(await announced()).toEqual(['raised', 'raised']);
    engine.clock.advance(25 * hourMs);
    expect(await announced()).toEqual(['raised', 'raised']);
  });

  it('is announced again if it returns', async () => {
    const world = await openWork();
    const { engine, tool, read, report, hired, alerting } = world;
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
    await alerting.ask();
    expect(await report()).toMatchObject({ outcome: 'held', held: 1 });
    expect(await find()).toMatchObject({ held: 0 });
    await alerting.ask();
    expect(await lose()).toMatchObject({ outcome: 'held', held: 1 });
    await alerting.ask();
    expect(await alerting.announced('usage_lowering')).toEqual(['raised', 'over', 'raised']);
  });
});
