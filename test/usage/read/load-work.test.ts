import { expect, it } from 'vitest';
import type { Item } from '../../../src/usage/read/merge-items.ts';
import { toItem, toItemColumns } from '../../../src/usage/read/work-store.ts';

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

it.each([true, false])('a piece is kept as it is, with isDone %s', (isDone) => {
  const columns = toItemColumns({ ...item, isDone });
  expect(columns).toMatchObject({ doneDay: '2026-03-15', lastDay: '2026-03-16' });
  expect(toItem(columns)).toEqual({ ...item, isDone });
});
