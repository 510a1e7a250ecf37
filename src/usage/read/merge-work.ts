/**
 * From what is read in the tools to what the marketplace is told of it, day by day. Work that was
 * seen is never taken back because something was not seen: only what a whole reading says lowers.
 */
import type { UsageSighting } from '../../adapters/adapter.ts';
import { AppError } from '../../domain/errors.ts';
import {
  addCounts,
  type Counts,
  countNames,
  type Day,
  maxCounts,
  noCounts,
  toCounts,
} from '../../domain/usage.ts';
import { dayIn } from '../../lib/day-in.ts';

/** What is known of one member's work at one place. */
export interface Work {
  items: ReadonlyMap<string, Item>;
  /** Null where the tool knows days by itself. */
  totals: Totals | null;
  days: ReadonlyMap<Day, SeenDay>;
}

/** One piece of work. */
export interface Item {
  taskId: string;
  /** Where its labels and its task count. */
  doneDay: Day;
  labels: number | null;
  /** What it has come to so far, and the days on which it grew to that. */
  seconds: number | null;
  grown: ReadonlyMap<Day, number>;
}

/** For a tool that tells everything until now. */
export interface Totals {
  /** The day that counts whatever goes beyond `before`. */
  day: Day;
  /** What earlier days have counted, and what was there before anybody looked. */
  before: Counts;
}

export interface SeenDay {
  counts: Counts;
  /** Whether a removal was begun since: it may rise, and never falls. */
  isFrozen: boolean;
}

export interface Reading {
  beganAt: Date;
  timeZone: string;
  firstDay: Day;
  /**
   * Whether what is not in it is gone: it is of everything, has ended, and whose work it is can
   * still be told.
   */
  lowers: boolean;
  /** Whether a total that is seen for the first time was all done since somebody looked last. */
  countsFirstTotal: boolean;
}

export const noWork: Work = { items: new Map(), totals: null, days: new Map() };

/**
 * What one ended reading says of one member, on top of what is known. Pure, and the same again when
 * it is repeated.
 *
 * @throws AppError `invalid` where a count or an instant of it is none
 */
export function mergeWork(
  known: Work,
  sightings: readonly UsageSighting[],
  reading: Reading,
): Work {
  for (const sighting of sightings) refuseOdd(sighting);
  const items = mergeItems(known.items, sightings, reading);
  const totals = mergeTotals(known, sightings, reading);
  const seen = [...daysOfItems(items), ...daysTold(sightings), ...totals.day];
  const counted = new Map<Day, Counts>();
  for (const [day, counts] of seen) {
    if (day >= reading.firstDay) counted.set(day, addCounts(counted.get(day) ?? noCounts, counts));
  }
  // Of what is told by totals, the days that are over are told no more.
  const isTold = (day: Day) => day >= reading.firstDay && totals.kept === null;
  const gone = reading.lowers ? [...known.days.keys()].filter(isTold) : [];
  const days = new Map(known.days);
  for (const day of new Set([...gone, ...counted.keys()])) {
    days.set(day, mergeDay(known.days.get(day), counted.get(day), reading.lowers));
  }
  return { items, totals: totals.kept, days };
}

/** A removal was begun: what was seen until now stays, whatever the tool tells later. */
export function freezeWork(work: Work): Work {
  const days = [...work.days].map(
    ([day, { counts }]) => [day, { counts, isFrozen: true }] as const,
  );
  return { ...work, days: new Map(days) };
}

function mergeDay(
  known: SeenDay | undefined,
  counted: Counts | undefined,
  lowers: boolean,
): SeenDay {
  if (known === undefined) return { counts: counted ?? noCounts, isFrozen: false };
  const { counts: before, isFrozen } = known;
  if (!lowers || isFrozen) return { counts: maxCounts(before, counted ?? noCounts), isFrozen };
  // A count that was not told this time is not gone: only the whole day can be.
  const counts = toCounts((name) =>
    counted === undefined ? before[name] && 0 : (counted[name] ?? before[name]),
  );
  return { counts, isFrozen };
}

function* daysTold(sightings: readonly UsageSighting[]): Iterable<[Day, Counts]> {
  const told = new Map<Day, Counts>();
  for (const one of sightings) if (one.of === 'day') told.set(one.day, countsOf(one));
  yield* told;
}

function daysOfItems(items: ReadonlyMap<string, Item>): Map<Day, Counts> {
  const days = new Map<Day, Counts>();
  const add = (day: Day, counts: Counts) =>
    days.set(day, addCounts(days.get(day) ?? noCounts, counts));
  const tasks = new Map<Day, Set<string>>();
  for (const { taskId, doneDay, labels, grown } of items.values()) {
    add(doneDay, { ...noCounts, labels });
    tasks.set(doneDay, (tasks.get(doneDay) ?? new Set()).add(taskId));
    for (const [day, seconds] of grown) add(day, { ...noCounts, seconds });
  }
  // Of what is counted at all, a day that has none has zero: it may have had some before.
  const all = [...items.values()];
  const seconds = all.some((item) => item.seconds !== null) ? 0 : null;
  const labels = all.some((item) => item.labels !== null) ? 0 : null;
  for (const day of days.keys()) add(day, { seconds, labels, tasks: tasks.get(day)?.size ?? 0 });
  return days;
}

type ItemSighting = Extract<UsageSighting, { of: 'item' }>;

function mergeItems(
  known: ReadonlyMap<string, Item>,
  sightings: readonly UsageSighting[],
  { timeZone, firstDay, lowers }: Reading,
): ReadonlyMap<string, Item> {
  const told = sightings.filter((one) => one.of === 'item');
  const items = new Map(known);
  for (const one of told) {
    items.set(one.itemId, mergeItem(items.get(one.itemId), one, timeZone, lowers));
  }
  if (!lowers) return items;
  const present = new Set(told.map(({ itemId }) => itemId));
  for (const [id, { doneDay }] of items) {
    if (doneDay >= firstDay && !present.has(id)) items.delete(id);
  }
  return items;
}

function mergeItem(
  known: Item | undefined,
  told: ItemSighting,
  timeZone: string,
  lowers: boolean,
): Item {
  const dayOf = (instant: string) => dayIn(new Date(instant), timeZone);
  const { seconds, labels } = countsOf(told);
  const grown = grow(known, seconds, dayOf(told.changedAt), lowers);
  const place = { taskId: told.taskId, doneDay: dayOf(told.doneAt) };
  if (known === undefined) return { ...place, labels, ...grown };
  // Where it counts may move, and it may come to less, once a whole reading says so.
  if (lowers) return { ...place, labels: labels ?? known.labels, ...grown };
  const { taskId, doneDay } = known;
  const most = maxCounts({ ...noCounts, labels }, { ...noCounts, labels: known.labels });
  return { taskId, doneDay, labels: most.labels, ...grown };
}

function grow(
  known: Item | undefined,
  seconds: number | null,
  day: Day,
  lowers: boolean,
): Pick<Item, 'seconds' | 'grown'> {
  const before = known?.seconds ?? null;
  const grown = new Map(known?.grown);
  const growth = (seconds ?? 0) - (before ?? 0);
  if (seconds === null || (growth < 0 && !lowers)) return { seconds: before, grown };
  if (growth > 0) grown.set(day, (grown.get(day) ?? 0) + growth);
  if (growth < 0) takeBack(grown, -growth);
  return { seconds, grown };
}

/** From the latest days first, where it was counted last. */
function takeBack(grown: Map<Day, number>, seconds: number): void {
  let left = seconds;
  for (const [day, counted] of [...grown].sort().reverse()) {
    const taken = Math.min(left, counted);
    left -= taken;
    if (taken === counted) grown.delete(day);
    else grown.set(day, counted - taken);
  }
}

interface MergedTotals {
  kept: Totals | null;
  /** What they make of the day of the reading, if anything. */
  day: [Day, Counts][];
}

/** What days count together is never more than the tool has ever told. */
function mergeTotals(
  known: Work,
  sightings: readonly UsageSighting[],
  { beganAt, timeZone, lowers, countsFirstTotal }: Reading,
): MergedTotals {
  const told = sightings.findLast((one) => one.of === 'total');
  if (told === undefined && known.totals === null) return { kept: null, day: [] };
  const total = told === undefined ? null : countsOf(told);
  const today = dayIn(beganAt, timeZone);
  const before = countedBefore(known, today);
  const first = toCounts(
    (name) => before?.[name] ?? (countsFirstTotal ? 0 : (total?.[name] ?? null)),
  );
  const kept = { day: laterOf(known.totals?.day, today), before: first };
  if (total === null && !lowers) return { kept, day: [] };
  const growth = toCounts((name) => {
    const [all, earlier] = [total === null ? 0 : total[name], first[name]];
    return all === null || earlier === null ? null : Math.max(0, all - earlier);
  });
  return { kept, day: [[kept.day, growth]] };
}

/** What was counted when this day began. */
function countedBefore({ totals, days }: Work, today: Day): Counts | null {
  if (totals === null || totals.day >= today) return totals?.before ?? null;
  return addCounts(totals.before, days.get(totals.day)?.counts ?? noCounts);
}

function laterOf(a: Day | undefined, b: Day): Day {
  return a !== undefined && a > b ? a : b;
}

function countsOf(sighting: UsageSighting): Counts {
  return toCounts((name) => {
    const count = sighting[name];
    return count === undefined ? null : Math.round(count);
  });
}

/** More than a day could ever hold, by far; beyond it databases count no more exactly. */
const greatestCount = 1_000_000_000_000;

function refuseOdd(sighting: UsageSighting): void {
  const isOddCount = countNames.some((name) => {
    const count = sighting[name];
    return count !== undefined && !(count >= 0 && count <= greatestCount);
  });
  if (isOddCount) throw new AppError('invalid', 'A count of the work that was read is none');
  const instants = sighting.of === 'item' ? [sighting.doneAt, sighting.changedAt] : [];
  if (sighting.of === 'day') instants.push(`${sighting.day}T00:00:00Z`);
  if (instants.some((instant) => Number.isNaN(Date.parse(instant))))
    throw new AppError('invalid', 'A day of the work that was read is none');
}
