/** This folder reads work from the tools, and counts it per day. Only a complete reading lowers counts. */
import type { UsageObservation } from '../../adapters/adapter.ts';
import { AppError } from '../../domain/errors.ts';
import { addCounts, type Counts, countNames, type Day, maxCounts, noCounts, toCounts } from '../../domain/usage.ts';
import { toInstant } from '../../lib/clock.ts';
import { dayIn } from '../../lib/days.ts';
import { changedDays, countsOf, daysOfItems, type Item, mergeItems, type Reading, tornDays } from './merge-items.ts';

/** What is known of one member's work in one scope. */
export interface MemberWork {
  items: ReadonlyMap<string, Item>;
  /** Null if the tool reports days. */
  totals: Totals | null;
  /** What the total was while the account belonged to no trainer, in order. Empty once `totals` are known. */
  earlierTotals: readonly ReadTotal[];
  days: ReadonlyMap<Day, ObservedDay>;
}

/** For a tool that reports only a running total. */
export interface Totals {
  /** The day that counts whatever goes beyond `before`. */
  day: Day;
  /** What earlier days have counted, and what was there before and is not counted. */
  before: Counts;
  /** The first total, if a part of it may be from before the contract. It is held. */
  first?: ReadTotal & { day: Day };
  /** How far the latest total is below what was counted, if it is. New work counts only beyond it. */
  fallen?: Counts;
}

/** A running total at the beginning of a reading. */
export interface ReadTotal {
  at: string;
  counts: Counts;
}

export interface ObservedDay {
  counts: Counts;
  /** Whether a removal has begun since. A frozen day may rise, but is never lowered. */
  isFrozen: boolean;
  /** Whether an item was deleted or moved since then. */
  isTorn: boolean;
}

export const noWork: MemberWork = { items: new Map(), totals: null, earlierTotals: [], days: new Map() };

/**
 * Pure: merges a reading into what is known of a member's work. Idempotent.
 *
 * @throws AppError `invalid` if a count or an instant is not valid
 */
export function mergeWork(known: MemberWork, observations: readonly UsageObservation[], reading: Reading): MemberWork {
  for (const observation of observations) refuseInvalid(observation);
  const items = mergeItems(known.items, observations, reading);
  const totals = mergeTotals(known, observations, reading);
  const seen = [...daysOfItems(items), ...daysObserved(observations), ...totals.day];
  const counted = new Map<Day, Counts>();
  const edited = new Set(changedDays(known.items, items).filter((day) => known.days.has(day)));
  for (const [day, counts] of seen) {
    if (day >= reading.firstDay || edited.has(day)) counted.set(day, addCounts(counted.get(day) ?? noCounts, counts));
  }
  // A tool that reports totals says nothing about past days.
  const isCovered = (day: Day) => day >= reading.firstDay && totals.kept === null;
  const gone = reading.lowers ? [...[...known.days.keys()].filter(isCovered), ...edited] : [];
  const days = new Map(known.days);
  const torn = tornDays(known.items, items);
  for (const day of new Set([...gone, ...counted.keys()])) {
    days.set(day, mergeDay(known.days.get(day), counted.get(day), reading.lowers, torn.has(day)));
  }
  return { items, totals: withFallen(totals, days), earlierTotals: [], days };
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

/** Freezes all days, because a removal has begun: no later reading lowers them. */
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
  // Only a whole day can be gone: a count that is missing from the reading is kept.
  const counts = toCounts((name) => (counted === undefined ? before[name] && 0 : (counted[name] ?? before[name])));
  return { counts, isFrozen: false, isTorn };
}

function daysObserved(observations: readonly UsageObservation[]): Map<Day, Counts> {
  return new Map(observations.flatMap((one) => (one.of === 'day' ? [[one.day, countsOf(one)] as const] : [])));
}

interface MergedTotals {
  kept: Totals | null;
  /** The total in this reading, if it has one. */
  latest: Counts | null;
  /** The counts of the day of the reading, if the total gives any. */
  day: [Day, Counts][];
}

/** All days together never count more than the highest total of the tool. */
function mergeTotals(known: MemberWork, observations: readonly UsageObservation[], reading: Reading): MergedTotals {
  const observation = observations.findLast((one) => one.of === 'total');
  if (observation === undefined && known.totals === null) return { kept: null, latest: null, day: [] };
  const total = observation === undefined ? null : countsOf(observation);
  const today = dayIn(reading.beganAt, reading.timeZone);
  const { before, first } = beginTotals(known, { at: toInstant(reading.beganAt), counts: total ?? noCounts }, reading);
  const kept = { ...known.totals, day: laterOf(known.totals?.day, today), before, ...(first && { first }) };
  if (total === null && !reading.lowers) return { kept, latest: null, day: [] };
  const growth = toCounts((name) => {
    const [all, earlier] = [total === null ? 0 : total[name], before[name]];
    return all === null || earlier === null ? null : Math.max(0, all - earlier);
  });
  return { kept, latest: total, day: [[kept.day, growth]] };
}

/** From where the counts of a total count today, and how much of them is held. */
function beginTotals(
  { totals, earlierTotals, days }: MemberWork,
  latest: ReadTotal,
  { beganAt, timeZone, hire }: Reading,
): Pick<Totals, 'before' | 'first'> {
  const counted = countedBefore({ totals, days }, dayIn(beganAt, timeZone));
  const begin = (name: keyof Counts) => {
    const known = counted?.[name] ?? (hire.hasNewAccount ? 0 : null);
    if (known !== null) return { before: known, held: null };
    const toCount = ({ at, counts }: ReadTotal) => (counts[name] === null ? [] : [{ at, count: counts[name] }]);
    return beginCount([...earlierTotals, latest].flatMap(toCount), hire.startsAt);
  };
  const before = toCounts((name) => begin(name).before);
  const at = earlierTotals[0]?.at ?? latest.at;
  const first = totals?.first ?? { at, day: dayIn(new Date(at), timeZone), counts: noCounts };
  const held = addCounts(
    first.counts,
    toCounts((name) => begin(name).held),
  );
  return countNames.some((name) => held[name]) ? { before, first: { ...first, counts: held } } : { before };
}

/** A first total counts from where it was when the contract began. If no reading is that old, all of it is held. */
function beginCount(
  read: readonly { at: string; count: number }[],
  startsAt: string | null,
): { before: number | null; held: number | null } {
  const [oldest, latest] = [read[0], read.at(-1)];
  if (oldest === undefined || latest === undefined) return { before: null, held: null };
  const isEarly = ({ at }: { at: string }) => startsAt !== null && Date.parse(at) < Date.parse(startsAt);
  const early = read.findLast(isEarly);
  const before = Math.min((early ?? oldest).count, latest.count);
  return { before, held: early === undefined && before > 0 ? before : null };
}

/** What was counted at the beginning of the day. */
function countedBefore({ totals, days }: Pick<MemberWork, 'totals' | 'days'>, today: Day): Counts | null {
  if (totals === null || totals.day >= today) return totals?.before ?? null;
  return addCounts(totals.before, days.get(totals.day)?.counts ?? noCounts);
}

function laterOf(a: Day | undefined, b: Day): Day {
  return a !== undefined && a > b ? a : b;
}

/** Far more than a day's work. Databases do not count exactly beyond it. */
const greatestCount = 1_000_000_000_000;

function refuseInvalid(observation: UsageObservation): void {
  const isInvalid = countNames.some((name) => {
    const count = observation[name];
    return count !== undefined && !(count >= 0 && count <= greatestCount);
  });
  if (isInvalid) throw new AppError('invalid', "Invalid count in the tool's answer");
  const instants = observation.of === 'item' ? [observation.doneAt, observation.changedAt] : [];
  if (observation.of === 'day') instants.push(`${observation.day}T00:00:00Z`);
  if (instants.some((instant) => Number.isNaN(Date.parse(instant))))
    throw new AppError('invalid', "Invalid date in the tool's answer");
}
