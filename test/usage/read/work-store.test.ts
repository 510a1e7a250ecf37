import { expect, it } from 'vitest';
import { type Database, inTransaction } from '../../../src/db/database.ts';
import type { Item } from '../../../src/usage/read/merge-items.ts';
import { clearWorkTraces, toItem, toItemColumns, toolObservations } from '../../../src/usage/read/work-store.ts';
import { describeEachDatabase } from '../../support/databases.ts';

const [day, next] = ['2026-03-15', '2026-03-16'];
const counts = { seconds: 60, tasks: 1, labels: 1 };
const seenAt = `${day}T12:00:00.000Z`;
/** More than either database accepts as parameters of one query. */
const many = Array.from({ length: 70_000 }, (_, index) => `unknown${index}`);

async function observe({ kysely }: Database, trainerId: string, on = day): Promise<void> {
  const row = { tool: 'studio', scope: '7', memberId: `m${trainerId}`, day: on, trainerId, ...counts, seenAt };
  await kysely.insertInto('usageDay').values(row).execute();
}

async function remember({ kysely }: Database, trainerId: string, first: object): Promise<void> {
  const totals = JSON.stringify({ day, before: counts, first });
  const row = { tool: 'studio', scope: '7', memberId: `m${trainerId}`, trainerId, generation: 1, totals };
  await kysely.insertInto('usagePerson').values(row).execute();
}

describeEachDatabase('what the tools observed', (openFresh) => {
  it('is listed with first totals from a day on, however many trainers are asked for', async () => {
    const database = await openFresh();
    for (const id of ['a', 'b', 'c']) await observe(database, id);
    await observe(database, 'a', next);
    await remember(database, 'a', { day, at: seenAt, counts });
    await remember(database, 'c', { day, at: seenAt, counts });
    const list = async (trainerIds: string[], fromDay: string) => {
      const found = await toolObservations(database, database.kysely, { trainerIds, fromDay });
      return found.map((one) => [one.trainerId, one.day, one.isFirstTotal ?? false]);
    };
    expect(await list(['a', 'b', ...many], day)).toEqual([
      ['a', day, false],
      ['b', day, false],
      ['a', next, false],
      ['a', day, true],
    ]);
    expect(await list(['a', 'b'], next)).toEqual([['a', next, false]]);
    expect(await list([], '')).toEqual([]);
  });

  it('becomes stale for a trainer who was forgotten, with the first total', async () => {
    const database = await openFresh();
    for (const id of ['a', 'b']) await observe(database, id);
    await remember(database, 'a', { day, at: seenAt, counts });
    await inTransaction(database, (tx) => clearWorkTraces(tx, 'a', []));
    const left = await toolObservations(database, database.kysely, { trainerIds: ['a', 'b'], fromDay: '' });
    expect(left.map(({ trainerId }) => trainerId)).toEqual(['b']);
    const stale = await database.kysely.selectFrom('usageStale').selectAll().execute();
    expect(stale).toEqual([{ trainerId: 'a', fromDay: '', reopens: false }]);
  });
});

const [morning, noon, tomorrow] = ['2026-03-15T09:00:00.000Z', '2026-03-15T12:00:00.000Z', '2026-03-16T09:00:00.000Z'];

const item: Item = {
  taskId: 't',
  isDone: true,
  doneDay: '2026-03-15',
  doneAt: morning,
  labels: 3,
  seconds: 100,
  grown: [
    { day: '2026-03-15', at: morning, seconds: 60 },
    { day: '2026-03-15', at: noon, seconds: 30 },
    { day: '2026-03-16', at: tomorrow, seconds: 10 },
  ],
};

it.each([true, false])('stores a piece of work without loss, with isDone %s', (isDone) => {
  const columns = toItemColumns({ ...item, isDone });
  expect(columns).toMatchObject({ doneDay: '2026-03-15', lastDay: '2026-03-16' });
  expect(toItem(columns)).toEqual({ ...item, isDone });
});
