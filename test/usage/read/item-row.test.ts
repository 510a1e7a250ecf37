import { expect, it } from 'vitest';
import { toItem, toItemColumns } from '../../../src/usage/read/item-row.ts';
import type { Item } from '../../../src/usage/read/merge-items.ts';

const [morning, noon, next] = ['2026-03-15T09:00:00.000Z', '2026-03-15T12:00:00.000Z', '2026-03-16T09:00:00.000Z'];

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
    { day: '2026-03-16', at: next, seconds: 10 },
  ],
};

it('is kept with its instants, and for earlier versions by days', () => {
  const columns = toItemColumns(item);
  expect(toItem(columns)).toEqual(item);
  expect(columns).toMatchObject({ doneDay: '2026-03-15', lastDay: '2026-03-16' });
  expect(JSON.parse(columns.grown)).toEqual({ '2026-03-15': 90, '2026-03-16': 10 });
});

it('is kept with the task that was skipped, which counts none, also for earlier versions', () => {
  const columns = toItemColumns({ ...item, isDone: false });
  expect(columns).toMatchObject({ taskId: '', skippedTaskId: 't' });
  expect(toItem(columns)).toEqual({ ...item, isDone: false });
  const old = toItem({ ...columns, skippedTaskId: null });
  expect(old).toMatchObject({ taskId: '', isDone: false });
});

it('has no instants where an earlier version remembered it', () => {
  expect(toItem({ ...toItemColumns(item), moments: null })).toEqual({
    ...item,
    doneAt: null,
    grown: [
      { day: '2026-03-15', at: null, seconds: 90 },
      { day: '2026-03-16', at: null, seconds: 10 },
    ],
  });
});

it('forgets the instants that an earlier version has written past since', () => {
  const grown = JSON.stringify({ '2026-03-15': 90, '2026-03-16': 40, '2026-03-17': 5 });
  const past = { ...toItemColumns(item), doneDay: '2026-03-14', grown };
  expect(toItem(past)).toMatchObject({
    doneDay: '2026-03-14',
    doneAt: null,
    grown: [
      ...item.grown.slice(0, 2),
      { day: '2026-03-16', at: null, seconds: 40 },
      { day: '2026-03-17', at: null, seconds: 5 },
    ],
  });
});
