/**
 * From what is read in the tools to what the marketplace is told of it, day by day. Work that was
 * seen is never taken back because something was not seen: only what a whole reading says lowers.
 */
import type { UsageObservation } from '../../adapters/adapter.ts';
import { AppError } from '../../domain/errors.ts';
import { addCounts, type Counts, countNames, type Day, maxCounts, noCounts, toCounts } from '../../domain/usage.ts';
import { dayIn } from '../../lib/day-in.ts';
import { countsOf, daysOfItems, type Item, mergeItems, type Reading, tornDays } from './merge-items.ts';

/** What is known of one member's work in one scope. */
export interface MemberWork {
  items: ReadonlyMap<string, Item>;
  /** Null where the tool knows days by itself. */
  totals: Totals | null;
  days: ReadonlyMap<Day, ObservedDay>;
}

/** For a tool that tells everything until now. */
export interface Totals {
  /** The day that counts whatever goes beyond `before`. */
  day: Day;
  /** What earlier days have counted, and what was there before anybody looked. */
  before: Counts;
  /**
   * How much less the tool told last than was counted: so much of what is done next does not count.
   * Left out where it is nothing.
   */
  fallen?: Counts;
}

export interface ObservedDay {
  counts: Counts;
  /** Whether a removal was begun since: it may rise, and never falls. */
  isFrozen: boolean;
  /** Whether a piece that was seen before that removal was taken away or moved since. */
  isTorn: boolean;
}

export const noWork: MemberWork = { items: new Map(), totals: null, days: new Map() };

/**
 * What one ended reading says of one member, on top of what is known. Pure, and the same again when
 * it is repeated.
 *
 * @throws AppError `invalid` where a count or an instant of it is none
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
  // Of what is told by totals, the days that are over are told no more.
  const isCovered = (day: Day) => day >= reading.firstDay && totals.kept === null;
  const gone = reading.lowers ? [...known.days.keys()].filter(isCovered) : [];
  const days = new Map(known.days);
  const torn = tornDays(known.items, items);
  for (const day of new Set([...gone, ...counted.keys()])) {
    days.set(day, mergeDay(known.days.get(day), counted.get(day), reading.lowers, torn.has(day)));
  }
  return { items, totals: withFallen(totals, days), days };
}

function withFallen({ kept, latest: told }: MergedTotals, days: ReadonlyMap<Day, ObservedDay>): Totals | null {
  if (kept === null || told === null) return kept;
  const counted = addCounts(kept.before, days.get(kept.day)?.counts ?? noCounts);
  const fallen = toCounts((name) =>
    counted[name] === null || told[name] === null ? null : Math.max(0, counted[name] - told[name]),
  );
  const { fallen: _, ...rest } = kept;
  return countNames.some((name) => fallen[name]) ? { ...rest, fallen } : rest;
}

/** A removal was begun: what was seen until now stays, whatever the tool tells later. */
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
  // A count that was not told this time is not gone: only the whole day can be.
  const counts = toCounts((name) => (counted === undefined ? before[name] && 0 : (counted[name] ?? before[name])));
  return { counts, isFrozen: false, isTorn };
}

function* daysObserved(observations: readonly UsageObservation[]): Iterable<[Day, Counts]> {
  const told = new Map<Day, Counts>();
  for (const one of observations) if (one.of === 'day') told.set(one.day, countsOf(one));
  yield* told;
}

interface MergedTotals {
  kept: Totals | null;
  /** What the tool has told; null where this reading tells nothing of it. */
  latest: Counts | null;
  /** What they make of the day of the reading, if anything. */
  day: [Day, Counts][];
}

/** What days count together is never more than the tool has ever told. */
function mergeTotals(
  known: MemberWork,
  observations: readonly UsageObservation[],
  { beganAt, timeZone, lowers, countsFirstTotal }: Reading,
): MergedTotals {
  const told = observations.findLast((one) => one.of === 'total');
  if (told === undefined && known.totals === null) return { kept: null, latest: null, day: [] };
  const total = told === undefined ? null : countsOf(told);
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

/** More than a day could ever hold, by far; beyond it databases count no more exactly. */
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
