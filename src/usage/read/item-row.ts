import type { Row } from '../../db/schema.ts';
import type { Day } from '../../domain/usage.ts';
import type { Item } from './merge-items.ts';

type ItemColumns = Omit<Row<'usageItem'>, 'tool' | 'scope' | 'memberId' | 'itemId'>;

export function toItemColumns({ grown, ...item }: Item): ItemColumns {
  return {
    ...item,
    lastDay: grown.reduce((last, { day }) => (day > last ? day : last), item.doneDay),
    grown: JSON.stringify(grown.map(({ day, at, seconds }) => [day, at, seconds])),
  };
}

export function toItem({ taskId, isDone, doneDay, doneAt, labels, seconds, grown }: ItemColumns): Item {
  const growth = JSON.parse(grown) as [Day, string, number][];
  return {
    taskId,
    isDone,
    doneDay,
    doneAt,
    labels,
    seconds,
    grown: growth.map(([day, at, some]) => ({ day, at, seconds: some })),
  };
}
