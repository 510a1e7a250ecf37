import { expect, it } from 'vitest';
import { describeEachDatabase } from '../../support/databases.ts';
import { openOneWorker } from '../../support/one-worker.ts';

const dayMs = 24 * 3_600_000;
const first = '2026-03-01T12:00:00.000Z';

describeEachDatabase('a piece that is older than the look-back', (openFresh) => {
  /** Two pieces of one trainer on the 1st, read on that day, and so many days later. */
  async function openOld(days = 20) {
    const world = await openOneWorker(await openFresh(), first);
    const { engine, work, read } = world;
    const { kysely } = engine.database;
    work('a', 3000);
    work('b', 50);
    await read();
    engine.clock.advance(days * dayMs);
    await read();
    engine.clock.advance(60_000);
    await kysely.deleteFrom('usageStale').execute();
    const now = () => engine.clock.now().toISOString();
    async function secondsByDay() {
      const rows = await kysely.selectFrom('usageDay').selectAll().orderBy('day').execute();
      return Object.fromEntries(rows.map(({ day, seconds, tasks }) => [day.slice(8), [seconds, tasks]]));
    }
    const stale = () => kysely.selectFrom('usageStale').selectAll().execute();
    return { ...world, now, secondsByDay, stale };
  }

  it('keeps the day it was done if it is done again', async () => {
    const { work, now, read, secondsByDay } = await openOld();
    work('a', 3000, { at: now() });
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
  });

  it('lowers its old day after an edit to less only by a complete reading', async () => {
    const { edit, read, secondsByDay } = await openOld();
    edit('a', 2000);
    await read();
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [2050, 2] });
  });

  it('lowers no day of the ended membership after an edit to less if its trainer was hired again', async () => {
    const { tool, work, end, hireAgain, now, read, secondsByDay } = await openOld();
    await end();
    await hireAgain();
    // The tool is not asked for such old pieces before one changes.
    tool.erase('a', 'b');
    await read(true);
    work('b', 50, { at: first });
    work('a', 2000, { at: first, changedAt: now() });
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
  });

  it('stays if a complete reading does not list it', async () => {
    const { tool, read, secondsByDay, engine, stale } = await openOld();
    tool.erase('a');
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2] });
    expect(await engine.rows('usageItem')).toHaveLength(2);
    expect(await stale()).toEqual([]);
  });

  it('counts an edit on the day of the change if the last edit is within the look-back', async () => {
    const { edit, read, engine, secondsByDay } = await openOld(9);
    edit('a', 3100);
    await read();
    engine.clock.advance(11 * dayMs);
    edit('a', 3140);
    await read();
    expect(await secondsByDay()).toEqual({ '01': [3050, 2], '10': [100, 0], '21': [40, 0] });
  });

  it('lowers the day of an earlier edit, with the other pieces that were edited then', async () => {
    const { edit, read, engine, secondsByDay, stale } = await openOld(9);
    for (const id of ['a', 'b']) edit(id, 3100);
    await read();
    engine.clock.advance(30 * dayMs);
    await engine.database.kysely.deleteFrom('usageStale').execute();
    edit('a', 3050);
    await read(true);
    expect(await secondsByDay()).toEqual({ '01': [3050, 2], '10': [3100, 0] });
    expect(await stale()).toMatchObject([{ fromDay: '2026-03-01' }]);
  });
});
