import { isDeepStrictEqual } from 'node:util';
import type { UsageObservation } from '../../adapters/adapter.ts';
import type { Row } from '../../db/schema.ts';
import { addCounts, type Counts, type Day, type Moment, maxCounts, noCounts, toCounts } from '../../domain/usage.ts';
import { dayIn } from '../../lib/days.ts';

/** A piece of work in a tool. */
export interface Item
  extends Pick<Row<'usageItem'>, 'taskId' | 'isDone' | 'doneDay' | 'doneAt' | 'labels' | 'seconds'> {
  /** How its seconds grew, by day and instant. */
  grown: readonly Growth[];
}

interface Instant {
  day: Day;
  at: string;
}

/** When a change was made, and the seconds that it added. */
export interface Growth extends Instant {
  seconds: number;
}

/** A reading of a member's work. */
export interface Reading {
  beganAt: Date;
  timeZone: string;
  /** The tool was not asked for earlier days. */
  firstDay: Day;
  /** Earlier days are closed: an edit of a piece that last counted then counts on that day. */
  firstOpenDay: Day;
  /** Whether what is not listed is gone: the reading is complete, and it is still clear whose work it is. */
  lowers: boolean;
  /** The tasks in the tool: items of deleted tasks stay counted. Null if they do not. */
  tasks: ReadonlySet<string> | null;
  /** Pieces of earlier days that are missing although the reading lists all work of their tasks. */
  gone?: ReadonlySet<string>;
  /** Decides how much counts of a total that is seen for the first time. */
  hire: Hire;
}

/** How a trainer came into a scope. */
export interface Hire {
  /** When their first contract began; null if unknown. */
  startsAt: string | null;
  /** Whether Gangway made their account after that. */
  hasNewAccount: boolean;
}

/** Sums the items up by day. */
export function daysOfItems(items: ReadonlyMap<string, Item>): Map<Day, Counts> {
  const days = new Map<Day, Counts>();
  const add = (day: Day, counts: Counts) => days.set(day, addCounts(days.get(day) ?? noCounts, counts));
  const tasks = new Map<Day, Set<string>>();
  for (const { taskId, isDone, doneDay, labels, grown } of items.values()) {
    add(doneDay, { ...noCounts, labels });
    const done = tasks.get(doneDay) ?? new Set();
    tasks.set(doneDay, isDone ? done.add(taskId) : done);
    for (const { day, seconds } of grown) add(day, { ...noCounts, seconds });
  }
  // A count that any item has is zero on other days, which may have had some before.
  const all = [...items.values()];
  const seconds = all.some((item) => item.seconds !== null) ? 0 : null;
  const labels = all.some((item) => item.labels !== null) ? 0 : null;
  for (const day of days.keys()) add(day, { seconds, labels, tasks: tasks.get(day)?.size ?? 0 });
  return days;
}

type ItemObservation = Extract<UsageObservation, { of: 'item' }>;

export function mergeItems(
  known: ReadonlyMap<string, Item>,
  observations: readonly UsageObservation[],
  reading: Reading,
): ReadonlyMap<string, Item> {
  const { firstDay, lowers, tasks, gone } = reading;
  const pieces = observations.filter((one) => one.of === 'item');
  const items = new Map(known);
  for (const one of pieces) items.set(one.itemId, mergeItem(items.get(one.itemId), one, reading));
  if (!lowers) return items;
  const present = new Set(pieces.map(({ itemId }) => itemId));
  for (const [id, { doneDay, taskId }] of items) {
    const isTaskThere = tasks === null || tasks.has(taskId);
    if ((doneDay >= firstDay || gone?.has(id)) && !present.has(id) && isTaskThere) items.delete(id);
  }
  return items;
}

function mergeItem(known: Item | undefined, piece: ItemObservation, { timeZone, lowers, firstOpenDay }: Reading): Item {
  const last = known && lastMoment(known);
  const isClosed = last !== undefined && last.day < firstOpenDay;
  const moment = known && isClosed ? { day: known.doneDay, at: known.doneAt } : toMoment(piece.doneAt, timeZone);
  const { seconds, labels } = countsOf(piece);
  const grown = grow(known, seconds, isClosed ? last : toMoment(piece.changedAt, timeZone), lowers);
  const isDone = piece.tasks !== 0;
  const done = { taskId: piece.taskId, isDone, doneDay: moment.day, doneAt: moment.at };
  if (known === undefined) return { ...done, labels, ...grown };
  // Only a complete reading moves an item to another day, or lowers it.
  if (lowers) return { ...done, labels: labels ?? known.labels, ...grown };
  const { doneDay, doneAt } = known;
  const most = maxCounts({ ...noCounts, labels }, { ...noCounts, labels: known.labels });
  const task = known.isDone ? { taskId: known.taskId, isDone: true } : done;
  return { ...done, ...task, doneDay, doneAt, labels: most.labels, ...grown };
}

/** The last day on which an item counts, and the last instant of that day. */
export function lastMoment({ doneDay, doneAt, grown }: Item): Instant {
  return grown.reduce((last, one) => (byInstant(last, one) < 0 ? one : last), { day: doneDay, at: doneAt });
}

/** The days on which an item counts. */
function daysOf({ doneDay, grown }: Item): Day[] {
  return [doneDay, ...grown.map(({ day }) => day)];
}

/** The first day on which any of these items counts. */
export function firstDayOf(items: Iterable<Item>): Day | undefined {
  return [...items].flatMap(daysOf).sort()[0];
}

/** The days on which changed items count or counted. */
export function changedDays(before: ReadonlyMap<string, Item>, after: ReadonlyMap<string, Item>): Day[] {
  return [...before].flatMap(([id, was]) => {
    const is = after.get(id);
    if (isDeepStrictEqual(was, is)) return [];
    return [...daysOf(was), ...(is === undefined ? [] : daysOf(is))];
  });
}

function toMoment(instant: string, timeZone: string): Instant {
  const date = new Date(instant);
  return { day: dayIn(date, timeZone), at: date.toISOString() };
}

function grow(
  known: Item | undefined,
  seconds: number | null,
  { day, at }: Instant,
  lowers: boolean,
): Pick<Item, 'seconds' | 'grown'> {
  const { seconds: before = null, grown = [] } = known ?? {};
  const growth = (seconds ?? 0) - (before ?? 0);
  if (seconds === null || (growth < 0 && !lowers)) return { seconds: before, grown };
  if (growth === 0) return { seconds, grown };
  if (growth < 0) return { seconds, grown: takeBack(grown, -growth) };
  return { seconds, grown: addGrowth(grown, { day, at, seconds: growth }) };
}

function addGrowth(grown: readonly Growth[], added: Growth): Growth[] {
  const isSame = (one: Growth) => one.day === added.day && one.at === added.at;
  const seconds = grown.filter(isSame).reduce((sum, one) => sum + one.seconds, added.seconds);
  return [...grown.filter((one) => !isSame(one)), { ...added, seconds }].sort(byInstant);
}

/** Takes seconds back from the latest growth first. */
function takeBack(grown: readonly Growth[], seconds: number): Growth[] {
  let left = seconds;
  const kept = grown.toReversed().flatMap((one) => {
    const taken = Math.min(left, one.seconds);
    left -= taken;
    return taken === one.seconds ? [] : [{ ...one, seconds: one.seconds - taken }];
  });
  return kept.reverse();
}

function byInstant(a: Instant, b: Instant): number {
  return `${a.day} ${a.at}` < `${b.day} ${b.at}` ? -1 : 1;
}

/** The days on which an item became less, vanished or moved, so that the items no longer show whose contract it was. */
export function tornDays(before: ReadonlyMap<string, Item>, after: ReadonlyMap<string, Item>): Set<Day> {
  const torn = new Set<Day>();
  for (const [id, was] of before) {
    const is = after.get(id);
    if (is === was) continue;
    if (is === undefined || isDoneElsewhere(was, is)) torn.add(was.doneDay);
    for (const one of was.grown) if (grownAt(is, one) < one.seconds) torn.add(one.day);
  }
  return torn;
}

function isDoneElsewhere(was: Item, is: Item): boolean {
  const isMoved = is.doneDay !== was.doneDay || is.doneAt !== was.doneAt;
  const isOther = was.isDone && (!is.isDone || is.taskId !== was.taskId);
  return isMoved || isOther || (is.labels ?? 0) < (was.labels ?? 0);
}

function grownAt(item: Item | undefined, { day, at }: Growth): number {
  return item?.grown.find((one) => one.day === day && one.at === at)?.seconds ?? 0;
}

/** The moments of an item on one day. */
export function momentsOf(item: Item, day: Day): Moment[] {
  const { taskId, isDone, doneDay, doneAt, labels, grown } = item;
  const done = { at: doneAt, taskId: isDone ? taskId : null, seconds: 0, labels: labels ?? 0 };
  const grew = grown.filter((one) => one.day === day);
  return [
    ...(doneDay === day ? [done] : []),
    ...grew.map(({ at, seconds }) => ({ at, taskId: null, seconds, labels: 0 })),
  ];
}

export function countsOf(observation: UsageObservation): Counts {
  return toCounts((name) => {
    const count = observation[name];
    return count === undefined ? null : Math.round(count);
  });
}
