/**
 * This file turns readings of a tool into counts per day. Counts are never lowered because something was not seen:
 * only a complete reading lowers them.
 */
import type { UsageObservation } from '../../adapters/adapter.ts';
import { AppError } from '../../domain/errors.ts';
import { addCounts, type Counts, countNames, type Day, maxCounts, noCounts, toCounts } from '../../domain/usage.ts';
import { dayIn } from '../../lib/day-in.ts';
import { countsOf, daysOfItems, type Item, mergeItems, type Reading, tornDays } from './merge-items.ts';

/** What is known of one member's work in one scope. */
export interface MemberWork {
  items: ReadonlyMap<string, Item>;
  /** Null where the tool reports days by itself. */
  totals: Totals | null;
  days: ReadonlyMap<Day, ObservedDay>;
}

/** For a tool that reports only a running total. */
export interface Totals {
  /** The day that counts whatever goes beyond `before`. */
  day: Day;
  /** What earlier days have counted, and what the total was when it was first read. */
  before: Counts;
  /**
   * How far the latest total is below what was counted. New work counts only beyond it. Left out where it is nothing.
   */
  fallen?: Counts;
}

export interface ObservedDay {
  counts: Counts;
  /** Whether a removal was begun since. A frozen day may rise and is never lowered. */
  isFrozen: boolean;
  /** Whether an item that was seen before that removal was deleted or moved since. */
  isTorn: boolean;
}

export const noWork: MemberWork = { items: new Map(), totals: null, days: new Map() };

/**
 * Merges one reading of one member into what is known. Pure; to repeat it changes nothing.
 *
 * @throws AppError `invalid` where a count or an instant is not valid
 */
export function mergeWork(known: MemberWork, observations: readonly UsageObservation[], reading: Reading): MemberWork {
  for (const observation of observations) refuseOdd(observation);
  const items = mergeItems(known.items, observations, reading);
  const totals = mergeTotals(known, observations, reading);
  const seen = [...daysOfItems(items), ...daysObserved(observations), ...totals.day];
  const counted = new Map<Day, Counts>();
  for (const [day, counts] of seen) {
    if (day >= reading.firstDay) counted.set(day, addCounts(counted.get(day) ?? noCounts, counts));
  }
  // A tool that reports totals says nothing about days that are over.
  const isCovered = (day: Day) => day >= reading.firstDay && totals.kept === null;
  const gone = reading.lowers ? [...known.days.keys()].filter(isCovered) : [];
  const days = new Map(known.days);
  const torn = tornDays(known.items, items);
  for (const day of new Set([...gone, ...counted.keys()])) {
    days.set(day, mergeDay(known.days.get(day), counted.get(day), reading.lowers, torn.has(day)));
  }
  return { items, totals: withFallen(totals, days), days };
}

function withFallen({ kept, latest }: MergedTotals, days: ReadonlyMap<Day, ObservedDay>): Totals | null {
  if (kept === null || latest === null) return kept;
  const counted = addCounts(kept.before, days.get(kept.day)?.counts ?? noCounts);
  const fallen = toCounts((name) =>
    counted[name] === null || latest[name] === null ? null : Math.max(0, counted[name] - latest[name]),
  );
  const { fallen: _, ...rest } = kept;
  return countNames.some((name) => fallen[name]) ? { ...rest, fallen } : rest;
}

/** Freezes all days, because a removal was begun: no later reading lowers them. */
export function freezeWork(work: MemberWork): MemberWork {
  const days = [...work.days].map(([day, one]) => [day, { ...one, isFrozen: true }] as const);
  return { ...work, days: new Map(days) };
}

function mergeDay(
  day: ObservedDay | undefined,
  counted: Counts | undefined,
  lowers: boolean,
  tears: boolean,
): ObservedDay {
  const nothing = { counts: noCounts, isFrozen: false, isTorn: false };
  const { counts: before, ...known } = day ?? { ...nothing, counts: counted ?? noCounts };
  const isTorn = known.isTorn || (known.isFrozen && tears);
  if (!lowers || known.isFrozen)
    return { counts: maxCounts(before, counted ?? noCounts), isFrozen: known.isFrozen, isTorn };
  // A count that is missing from this reading is kept: only the whole day can be gone.
  const counts = toCounts((name) => (counted === undefined ? before[name] && 0 : (counted[name] ?? before[name])));
  return { counts, isFrozen: false, isTorn };
}

function* daysObserved(observations: readonly UsageObservation[]): Iterable<[Day, Counts]> {
  const counts = new Map<Day, Counts>();
  for (const one of observations) if (one.of === 'day') counts.set(one.day, countsOf(one));
  yield* counts;
}

interface MergedTotals {
  kept: Totals | null;
  /** The total that the tool reported; null where this reading has none. */
  latest: Counts | null;
  /** The count of the day of the reading, if the total gives one. */
  day: [Day, Counts][];
}

/** All days together never count more than the highest total that the tool reported. */
function mergeTotals(
  known: MemberWork,
  observations: readonly UsageObservation[],
  { beganAt, timeZone, lowers, countsFirstTotal }: Reading,
): MergedTotals {
  const observation = observations.findLast((one) => one.of === 'total');
  if (observation === undefined && known.totals === null) return { kept: null, latest: null, day: [] };
  const total = observation === undefined ? null : countsOf(observation);
  const today = dayIn(beganAt, timeZone);
  const before = countedBefore(known, today);
  const first = toCounts((name) => before?.[name] ?? (countsFirstTotal ? 0 : (total?.[name] ?? null)));
  const kept = { ...known.totals, day: laterOf(known.totals?.day, today), before: first };
  if (total === null && !lowers) return { kept, latest: null, day: [] };
  const growth = toCounts((name) => {
    const [all, earlier] = [total === null ? 0 : total[name], first[name]];
    return all === null || earlier === null ? null : Math.max(0, all - earlier);
  });
  return { kept, latest: total, day: [[kept.day, growth]] };
}

/** What was counted when this day began. */
function countedBefore({ totals, days }: MemberWork, today: Day): Counts | null {
  if (totals === null || totals.day >= today) return totals?.before ?? null;
  return addCounts(totals.before, days.get(totals.day)?.counts ?? noCounts);
}

function laterOf(a: Day | undefined, b: Day): Day {
  return a !== undefined && a > b ? a : b;
}

/** Far more than a day could hold. Databases do not count exactly beyond it. */
const greatestCount = 1_000_000_000_000;

function refuseOdd(observation: UsageObservation): void {
  const isOddCount = countNames.some((name) => {
    const count = observation[name];
    return count !== undefined && !(count >= 0 && count <= greatestCount);
  });
  if (isOddCount) throw new AppError('invalid', 'A count of the work that was read is none');
  const instants = observation.of === 'item' ? [observation.doneAt, observation.changedAt] : [];
  if (observation.of === 'day') instants.push(`${observation.day}T00:00:00Z`);
  if (instants.some((instant) => Number.isNaN(Date.parse(instant))))
    throw new AppError('invalid', 'A day of the work that was read is none');
}
