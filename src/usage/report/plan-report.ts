import { type Counts, countNames, type Day, isLower, maxCounts, noCounts } from '../../domain/usage.ts';
import { toInstant } from '../../lib/clock.ts';
import { dayIn } from '../../lib/day-in.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import { firstOpenDay, type ReportTime } from '../read/look-back.ts';
import { isDoubted, type LedgerDay } from './ledger-day.ts';

/**
 * Why a day is sent: `again` because an earlier request may have arrived after the one that was
 * answered; `leaving` for the last time, as it leaves the look-back.
 */
export type SendCause = 'new' | 'changed' | 'in_doubt' | 'again' | 'leaving';

export interface PlannedEntry extends DueDay {
  cause: SendCause;
  /** What the marketplace is known to hold, or may. */
  before: Counts;
  lowers: boolean;
  /** Whether it lowers more than was let pass before, and the brake is asked. */
  isBraked: boolean;
  /** Since when that waits for somebody to look. */
  heldSince: string | null;
  /** Whether it is the last time. */
  closes: boolean;
}

export interface ReportPlan {
  entries: PlannedEntry[];
  /** What has changed since the day left the look-back: for an operator to see, and not sent. */
  late: DueDay[];
  /** What the marketplace refused, and nothing has changed about since. */
  parked: DueDay[];
  /** What was held as it would have been lowered, and would not be any more. */
  risen: DueDay[];
}

const dayMs = 86_400_000;

/** Pure: what is due and is not known to be at the marketplace, for one contract or for many. */
export function planReport(
  due: readonly DueDay[],
  ledgerOf: (day: DueDay) => LedgerDay | undefined,
  time: ReportTime,
): ReportPlan {
  const plan: ReportPlan = { entries: [], late: [], parked: [], risen: [] };
  const latest = createLatestDay(time.now);
  for (const one of due) {
    const day = one.isPartial ? atLeast(one, ledgerOf(one)) : one;
    // There and in UTC: the marketplace refuses what has not begun, and the whole request with it.
    if (day.day > latest(day.timeZone)) continue;
    const ledger = ledgerOf(day);
    const closes = day.day < firstOpenDay(time);
    const cause = causeOf(day, ledger, closes, time.now);
    if (cause === 'late' || cause === 'parked') plan[cause].push(day);
    else if (cause !== null) plan.entries.push(toEntry(day, ledger, cause, closes));
    if (hasRisen(day, ledger)) plan.risen.push(day);
  }
  return plan;
}

/** What may be less for the only reason that other work of the day is held, is not lowered. */
function atLeast(day: DueDay, ledger: LedgerDay | undefined): DueDay {
  return ledger === undefined ? day : { ...day, counts: maxCounts(day.counts, mayHold(ledger)) };
}

/** The last day that has begun in a zone and in UTC. */
function createLatestDay(now: Date): (timeZone: string) => Day {
  const inUtc = dayIn(now, 'UTC');
  const known = new Map<string, Day>();
  return (timeZone) => {
    const day = known.get(timeZone) ?? dayIn(now, timeZone);
    known.set(timeZone, day);
    return day < inUtc ? day : inUtc;
  };
}

function causeOf(
  { counts }: DueDay,
  ledger: LedgerDay | undefined,
  closes: boolean,
  now: Date,
): SendCause | 'late' | 'parked' | null {
  if (ledger === undefined) return countNames.some((name) => counts[name]) ? 'new' : null;
  if (ledger.state !== 'answered') return causeOfUnanswered(counts, ledger, now);
  const differs = isDifferent(counts, ledger.answered);
  if (ledger.closedAt !== null) return differs ? 'late' : null;
  if (differs) return 'changed';
  if (isDoubted(ledger) && toInstant(now) >= (ledger.doubtedUntil ?? '')) return 'again';
  return closes ? 'leaving' : null;
}

function causeOfUnanswered(counts: Counts, ledger: LedgerDay, now: Date): SendCause | 'parked' {
  if (ledger.state === 'in_doubt') return 'in_doubt';
  const isWaiting = ledger.state === 'refused' && isParked(counts, ledger, now);
  return isWaiting ? 'parked' : 'changed';
}

/** What was refused may be taken tomorrow, when somebody has been hired or linked. */
function isParked(counts: Counts, { tried, sentAt }: LedgerDay, now: Date): boolean {
  return !isDifferent(counts, tried) && now.getTime() - Date.parse(sentAt) < dayMs;
}

/** A count that no source has is not sent, and keeps what is stored. */
function isDifferent(counts: Counts, held: Counts): boolean {
  return countNames.some((name) => counts[name] !== null && counts[name] !== held[name]);
}

function toEntry(day: DueDay, ledger: LedgerDay | undefined, cause: SendCause, closes: boolean): PlannedEntry {
  const before = ledger === undefined ? noCounts : mayHold(ledger);
  const lowers = isLower(day.counts, before);
  const isBraked = ledger !== undefined && asksBrake(day, ledger);
  return { ...day, cause, before, lowers, isBraked, heldSince: ledger?.heldSince ?? null, closes };
}

function mayHold({ answered, tried, state }: LedgerDay): Counts {
  return state === 'in_doubt' ? maxCounts(answered, tried) : answered;
}

/** What was tried, and is not known to stand, was let pass already. */
function asksBrake({ counts }: DueDay, ledger: LedgerDay): boolean {
  const wasLetPass = ledger.state !== 'answered' && !isLower(counts, ledger.tried);
  return isLower(counts, mayHold(ledger)) && !wasLetPass;
}

function hasRisen(day: DueDay, ledger: LedgerDay | undefined): boolean {
  return ledger !== undefined && ledger.heldSince !== null && !asksBrake(day, ledger);
}

/** What lowering has come to in an install. */
export interface LoweredCount {
  /** Days that the run would lower, or that wait for somebody to look. */
  lowered: number;
  /** Days of the install that were reported within the look-back. */
  known: number;
}

/**
 * A run that would lower much of what was reported is likelier a fault of a tool than the truth: all
 * that it would lower waits for somebody to look.
 */
export function isBrakeOn({ lowered, known }: LoweredCount, maxLoweredFraction: number): boolean {
  return lowered > known * maxLoweredFraction;
}

/**
 * What waits once keeps waiting, however small a part of the whole it becomes: only somebody who has
 * looked lets it go, or its count as it rises again.
 *
 * @param isOn whether what is not held yet is to be
 */
export function holdLowered(
  entries: readonly PlannedEntry[],
  isOn: boolean,
): { entries: PlannedEntry[]; held: PlannedEntry[] } {
  const isHeld = ({ isBraked, heldSince }: PlannedEntry) => isBraked && (isOn || heldSince !== null);
  return { entries: entries.filter((one) => !isHeld(one)), held: entries.filter(isHeld) };
}
