import { expect, it } from 'vitest';
import { describeEachDatabase } from '../../support/databases.ts';
import { type ItemWork, openUsageWorld } from '../../support/usage-harness.ts';

const dayMs = 24 * 3_600_000;

describeEachDatabase('a piece that is older than the look-back', (openFresh) => {
  /** Two pieces of one trainer on the 1st, read on that day, and so many days later. */
  async function openOld(days = 20) {
    const world = await openUsageWorld(await openFresh());
    const { engine, tool } = world;
    engine.clock.advance(-14 * dayMs);
    await world.link('signs');
    const { memberId, trainerId, contractId } = world.hire();
    await world.learn();
    async function hireAgain() {
      world.sandbox.endContract(contractId);
      await world.learn();
      world.sandbox.hire({ jobId: world.jobId, trainers: [{ opentrainUserId: trainerId }] });
      await world.learn();
    }
    const items = new Map<string, ItemWork>();
    tool.items.set('signs', items);
    const work = (id: string, seconds: number, changes: Partial<ItemWork> = {}) =>
      items.set(id, { memberId, seconds, labels: 3, at: '2026-03-01T12:00:00.000Z', ...changes });
    work('a', 3000);
    work('b', 50);
    await world.read();
    engine.clock.advance(days * dayMs);
    await world.read();
    engine.clock.advance(60_000);
    await engine.database.kysely.deleteFrom('usageStale').execute();
    const now = () => engine.clock.now().toISOString();
    async function secondsByDay() {
      const rows = await engine.database.kysely.selectFrom('usageDay').selectAll().orderBy('day').execute();
      return Object.fromEntries(rows.map(({ day, seconds, tasks }) => [day.slice(8), [seconds, tasks]]));
    }
    const stale = () => engine.database.kysely.selectFrom('usageStale').selectAll().execute();
    return { ...world, items, work, hireAgain, now, secondsByDay, stale };
  }

  it('counts an edit on its old day, not on the day of the edit', async () => {
    const { work, now, read, secondsByDay, stale } = await openOld();
    work('a', 3010, { changedAt: now() });
    await read();
    expect(await secondsByDay()).toEqual({ '01': [3060, 2] });
    expect(await stale()).toMatchObject([{ fromDay: '2026-03-01' }]);
    await read();
    expect(await secondsByDay()).toEqual({ '01': [3060, 2] });
  });

  it('keeps the day it was done if it is done again', async () => {
    const { work, now, read, secondsByDay } = await openOld();
    work('a', 3000, { at: now() });
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
  });

  it('lowers its old day after an edit to less only by a complete reading', async () => {
    const { work, now, read, secondsByDay } = await openOld();
    work('a', 2000, { changedAt: now() });
    await read();
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [2050, 2] });
  });

  it('lowers no day of the ended membership after an edit to less if its trainer was hired again', async () => {
    const { items, work, hireAgain, now, read, secondsByDay } = await openOld();
    await hireAgain();
    // The tool is not asked for such old pieces before one changes.
    items.clear();
    await read(true);
    work('b', 50);
    work('a', 2000, { changedAt: now() });
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
  });

  it('stays if a complete reading does not list it', async () => {
    const { items, read, secondsByDay, engine, stale } = await openOld();
    items.delete('a');
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
    expect(await engine.rows('usageItem')).toHaveLength(2);
    expect(await stale()).toEqual([]);
  });

  it('counts an edit on the day of the change if the last edit is within the look-back', async () => {
    const { work, now, read, engine, secondsByDay } = await openOld(9);
    work('a', 3100, { changedAt: now() });
    await read();
    engine.clock.advance(11 * dayMs);
    work('a', 3140, { changedAt: now() });
    await read();
    expect(await secondsByDay()).toEqual({ '01': [3050, 2], '10': [100, 0], '21': [40, 0] });
  });

  it('lowers the day of an earlier edit, with the other pieces that were edited then', async () => {
    const { work, now, read, engine, secondsByDay, stale } = await openOld(9);
    for (const id of ['a', 'b']) work(id, 3100, { changedAt: now() });
    await read();
    engine.clock.advance(30 * dayMs);
    await engine.database.kysely.deleteFrom('usageStale').execute();
    work('a', 3050, { changedAt: now() });
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2], '10': [3100, 0] });
    expect(await stale()).toMatchObject([{ fromDay: '2026-03-01' }]);
  });
});
