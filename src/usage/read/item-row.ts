import type { Row } from '../../db/schema.ts';
import type { Day } from '../../domain/usage.ts';
import type { Growth, Item } from './merge-items.ts';

type ItemColumns = Omit<Row<'usageItem'>, 'tool' | 'scope' | 'memberId' | 'itemId'>;

/** The instants behind the days of an item, with the day that each instant was counted on. */
interface Moments {
  done: [Day, string | null];
  grown: [Day, string | null, number][];
}

export function toItemColumns(item: Item): ItemColumns {
  const { taskId, isDone, doneDay, doneAt, grown, labels, seconds: all } = item;
  const seconds = new Map<Day, number>();
  for (const one of grown) seconds.set(one.day, (seconds.get(one.day) ?? 0) + one.seconds);
  const moments: Moments = {
    done: [doneDay, doneAt],
    grown: grown.map((one) => [one.day, one.at, one.seconds]),
  };
  return {
    taskId: isDone ? taskId : '',
    skippedTaskId: isDone ? null : taskId,
    doneDay,
    labels,
    seconds: all,
    lastDay: [doneDay, ...seconds.keys()].reduce((a, b) => (a > b ? a : b)),
    grown: JSON.stringify(Object.fromEntries(seconds)),
    moments: JSON.stringify(moments),
  };
}

/**
 * The days decide: a version without instants that still runs beside this one writes only days. Instants that do not
 * sum up to their day are dropped.
 */
export function toItem({ doneDay, labels, seconds, ...row }: ItemColumns): Item {
  const { done, grown }: Moments = row.moments === null ? { done: ['', null], grown: [] } : JSON.parse(row.moments);
  const byDay = Map.groupBy(
    grown.map(([day, at, some]): Growth => ({ day, at, seconds: some })),
    ({ day }) => day,
  );
  const days = Object.entries(JSON.parse(row.grown) as Record<Day, number>).sort();
  return {
    // An earlier version did not store the task of a skipped item.
    taskId: row.taskId || (row.skippedTaskId ?? ''),
    isDone: row.taskId !== '',
    doneDay,
    labels,
    seconds,
    doneAt: done[0] === doneDay ? done[1] : null,
    grown: days.flatMap(([day, all]) => {
      const known = byDay.get(day) ?? [];
      const sum = known.reduce((some, one) => some + one.seconds, 0);
      return sum === all ? known : [{ day, at: null, seconds: all }];
    }),
  };
}
