import { type Counts, countNames, type Day, isLower, maxCounts, noCounts, toCounts } from '../../domain/usage.ts';
import { dayMs, toInstant } from '../../lib/clock.ts';
import { dayIn } from '../../lib/days.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import { firstOpenDay, type ReportTime } from '../read/look-back.ts';
import { isDoubted, type LedgerDay } from './ledger-day.ts';

/**
 * Why a day is sent. `again`: an earlier request may have arrived after the one that was answered; `leaving`: the day
 * leaves the look-back, and this is its last report.
 */
export type SendCause = 'new' | 'changed' | 'in_doubt' | 'again' | 'leaving';

export type PlannedDay = Omit<DueDay, 'observations'>;

type DueCounts = Pick<PlannedDay, 'counts' | 'isPartial'>;

export interface PlannedEntry extends PlannedDay {
  cause: SendCause;
  /** The counts that the marketplace has, or may have. */
  before: Counts;
  lowers: boolean;
  /** Whether the brake decides, because the day falls below what was sent. */
  isBraked: boolean;
  /** Since when the lowering is held for an operator. */
  heldSince: string | null;
  /** Whether the day is sent for the last time. */
  closes: boolean;
}

export interface ReportPlan {
  entries: PlannedEntry[];
  /** Days that changed after their last report. An operator sends or dismisses them. */
  late: (PlannedDay & { before: Counts })[];
  /** Days that the marketplace refused and that have not changed since. */
  parked: PlannedDay[];
  /** Held days that would no longer be lowered. */
  risen: PlannedDay[];
}

/** Pure: what has to be sent so that the marketplace has what is due. */
export function planReport(
  due: readonly PlannedDay[],
  ledgerOf: (day: PlannedDay) => LedgerDay | undefined,
  time: ReportTime,
): ReportPlan {
  const plan: ReportPlan = { entries: [], late: [], parked: [], risen: [] };
  const latest = createLatestDay(time.now);
  for (const one of due) {
    const ledger = ledgerOf(one);
    const day = atLeast(one, ledger);
    // If the day has not begun in its zone and in UTC, the marketplace refuses the whole request.
    if (day.day <= latest(day.timeZone)) addDay(plan, day, ledger, time);
  }
  return plan;
}

function addDay(plan: ReportPlan, day: PlannedDay, ledger: LedgerDay | undefined, time: ReportTime): void {
  const closes = day.day < firstOpenDay(time) && !day.isPartial;
  const cause = causeOf(day, ledger, closes, time.now);
  if (cause === 'late') plan.late.push({ ...day, before: ledger?.answered ?? noCounts });
  else if (cause === 'parked') plan.parked.push(day);
  else if (cause !== null) plan.entries.push(toEntry(day, ledger, cause, closes));
  if (hasRisen(day, ledger)) plan.risen.push(day);
}

/**
 * A day is not lowered while other work of the day is held. A count that no source has any more is sent again if it is
 * in doubt, because otherwise nobody would know whether the marketplace has it.
 */
function atLeast<T extends DueCounts>(day: T, ledger: LedgerDay | undefined): T {
  if (ledger === undefined) return day;
  const held = mayHold(ledger);
  if (day.isPartial) return { ...day, counts: maxCounts(day.counts, held) };
  return isUncertain(ledger) ? { ...day, counts: toCounts((name) => day.counts[name] ?? held[name]) } : day;
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
  { counts }: PlannedDay,
  ledger: LedgerDay | undefined,
  closes: boolean,
  now: Date,
): SendCause | 'late' | 'parked' | null {
  if (ledger === undefined) return countNames.some((name) => counts[name]) ? 'new' : null;
  if (ledger.state !== 'answered') return causeOfUnanswered(counts, ledger, now);
  const differs = isDifferent(counts, ledger.answered);
  if (!differs && isDoubted(ledger) && toInstant(now) >= (ledger.doubtedUntil ?? '')) return 'again';
  if (ledger.closedAt !== null) return differs ? 'late' : null;
  if (differs) return 'changed';
  return closes ? 'leaving' : null;
}

function causeOfUnanswered(counts: Counts, ledger: LedgerDay, now: Date): SendCause | 'parked' {
  if (ledger.state === 'in_doubt') return 'in_doubt';
  const isWaiting = ledger.state === 'refused' && isParked(counts, ledger, now);
  return isWaiting ? 'parked' : 'changed';
}

/** A refused day may be accepted tomorrow, after a trainer was hired or a project linked. */
function isParked(counts: Counts, { tried, sentAt }: LedgerDay, now: Date): boolean {
  return !isDifferent(counts, tried) && now.getTime() - Date.parse(sentAt) < dayMs;
}

/** A count that no source has is not sent, so the marketplace keeps its own. */
function isDifferent(counts: Counts, held: Counts): boolean {
  return countNames.some((name) => counts[name] !== null && counts[name] !== held[name]);
}

function toEntry(day: PlannedDay, ledger: LedgerDay | undefined, cause: SendCause, closes: boolean): PlannedEntry {
  const before = ledger === undefined ? noCounts : mayHold(ledger);
  const lowers = isLower(day.counts, before);
  const isBraked = ledger !== undefined && asksBrake(day, ledger);
  return { ...day, cause, before, lowers, isBraked, heldSince: ledger?.heldSince ?? null, closes };
}

function mayHold(ledger: LedgerDay): Counts {
  return isUncertain(ledger) ? maxCounts(ledger.answered, ledger.tried) : ledger.answered;
}

function isUncertain(ledger: LedgerDay): boolean {
  return ledger.state === 'in_doubt' || isDoubted(ledger);
}

/** The brake has already let pass what was sent, even if it never arrived, and what an operator chose. */
function asksBrake({ counts }: DueCounts, ledger: LedgerDay): boolean {
  const released = toCounts((name) => ledger.tried[name] ?? ledger.answered[name]);
  return isLower(counts, mayHold(ledger)) && isLower(counts, released);
}

/** Whether a lowering still waits for an operator. The next run sends a day that has risen since. */
export function isLoweringHeld(day: DueCounts, ledger: LedgerDay): boolean {
  return ledger.heldSince !== null && asksBrake(atLeast(day, ledger), ledger);
}

function hasRisen(day: PlannedDay, ledger: LedgerDay | undefined): boolean {
  return ledger !== undefined && ledger.heldSince !== null && !isLoweringHeld(day, ledger);
}

/**
 * If a run would lower a large part of what was reported, a tool is probably at fault, and an operator decides.
 *
 * @param days how many days the run would lower or are held, of those that were reported within the look-back
 */
export function isBrakeOn(days: { lowered: number; known: number }, maxLoweredFraction: number): boolean {
  return days.lowered > days.known * maxLoweredFraction;
}

/**
 * A held day stays held until an operator accepts it or its counts rise again.
 *
 * @param isOn whether the brake holds more days
 */
export function holdLowered(
  entries: readonly PlannedEntry[],
  isOn: boolean,
): { entries: PlannedEntry[]; held: PlannedEntry[] } {
  const isHeld = ({ isBraked, heldSince }: PlannedEntry) => isBraked && (isOn || heldSince !== null);
  return { entries: entries.filter((one) => !isHeld(one)), held: entries.filter(isHeld) };
}
