import {
  type Counts,
  countNames,
  type Day,
  isLower,
  type LedgerState,
  maxCounts,
  noCounts,
} from '../../domain/usage.ts';
import { dayIn } from '../../lib/day-in.ts';
import type { DueDay } from '../attribute/attribute-work.ts';
import { firstOpenDay, type ReportTime } from '../read/look-back.ts';

/** What was reported for one day, and what came of it. */
export interface LedgerDay {
  trainerId: string;
  day: Day;
  /** What was answered last; all null where nothing was. */
  answered: Counts;
  /** What was sent last, whatever came of it. */
  tried: Counts;
  state: LedgerState;
  isDoubted: boolean;
  sentAt: string;
  /** Whether it was sent for the last time. */
  isClosed: boolean;
  message: string | null;
}

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
  /** Whether it is the last time. */
  closes: boolean;
}

export interface ReportPlan {
  entries: PlannedEntry[];
  /** What has changed since the day left the look-back: for an operator to see, and not sent. */
  late: DueDay[];
  /** What the marketplace refused, and nothing has changed about since. */
  parked: DueDay[];
}

const dayMs = 86_400_000;
/** After so long no request arrives any more that nobody has heard of. */
const longestOnItsWayMs = 10 * 60_000;

/** Pure: what is due and is not known to be at the marketplace, for one contract or for many. */
export function planReport(
  due: readonly DueDay[],
  ledgerOf: (day: DueDay) => LedgerDay | undefined,
  time: ReportTime,
): ReportPlan {
  const plan: ReportPlan = { entries: [], late: [], parked: [] };
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
  if (ledger.isClosed) return differs ? 'late' : null;
  if (differs) return 'changed';
  const isOver = now.getTime() - Date.parse(ledger.sentAt) >= longestOnItsWayMs;
  if (ledger.isDoubted && isOver) return 'again';
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

function toEntry(
  day: DueDay,
  ledger: LedgerDay | undefined,
  cause: SendCause,
  closes: boolean,
): PlannedEntry {
  const before = ledger === undefined ? noCounts : mayHold(ledger);
  return { ...day, cause, before, lowers: isLower(day.counts, before), closes };
}

function mayHold({ answered, tried, state }: LedgerDay): Counts {
  return state === 'in_doubt' ? maxCounts(answered, tried) : answered;
}

/**
 * A run that would lower much of what was reported is likelier a fault of a tool than the truth: all
 * that it would lower waits for somebody to look.
 *
 * @param known how many days of the install were reported within the look-back
 */
export function holdLowered(
  entries: readonly PlannedEntry[],
  known: number,
  maxLoweredFraction: number,
): { entries: PlannedEntry[]; held: PlannedEntry[] } {
  const lowered = entries.filter(({ lowers }) => lowers);
  if (lowered.length <= known * maxLoweredFraction) return { entries: [...entries], held: [] };
  return { entries: entries.filter(({ lowers }) => !lowers), held: lowered };
}
