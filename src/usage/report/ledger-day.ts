import type { Row } from '../../db/schema.ts';
import { type Counts, type Day, isLower, maxCounts, noCounts, toCounts } from '../../domain/usage.ts';

/** What was reported for one day, and the outcome. */
export interface LedgerDay extends Pick<Row<'usageLedger'>, KeptColumn> {
  /** The counts that were answered last; all null if none were. */
  answered: Counts;
  /** The counts that were sent last, whatever the outcome. */
  tried: Counts;
  /** Since when a lowering of this day is held for an operator. */
  heldSince: string | null;
  /** Set while the day is lower than it was reported before. */
  lowered: Lowered | null;
}

type KeptColumn = 'trainerId' | 'day' | 'state' | 'sentAt' | 'answeredAt' | 'closedAt' | 'doubtedUntil' | AnswerColumn;
type AnswerColumn = 'status' | 'requestId' | 'message';

export interface Lowered {
  at: string;
  /** The highest counts that had been answered before. */
  from: Counts;
}

/** A day as it is sent. */
export interface SentDay {
  trainerId: string;
  day: Day;
  counts: Counts;
  /** Whether the day is sent for the last time. */
  closes: boolean;
}

export interface SendResult extends Pick<LedgerDay, AnswerColumn> {
  state: 'answered' | 'refused' | 'unsent';
  /** Whether the same request was sent before, had no answer, and may arrive later. */
  isRepeated: boolean;
}

/** After this time a request whose outcome is unknown can no longer arrive. */
const longestTransitMs = 10 * 60_000;

/** Pure: the day is about to be sent. What arrived is unknown until it is settled. */
export function beginDay(known: LedgerDay | undefined, { trainerId, day, counts }: SentDay, sentAt: string): LedgerDay {
  const wasUnheard = known?.state === 'in_doubt';
  // An earlier request may arrive after this one, and after the next.
  const doubtedUntil = laterOf(known?.doubtedUntil ?? null, wasUnheard ? lastArrivalOf(known.sentAt) : null);
  const begun = { trainerId, day, tried: counts, state: 'in_doubt', sentAt, heldSince: null, doubtedUntil } as const;
  return { ...unsent, ...known, ...begun };
}

const unsent = {
  ...{ answered: noCounts, answeredAt: null, closedAt: null, lowered: null },
  ...{ status: null, requestId: null, message: null },
};

/** Pure: the request with this day has ended. */
export function settleDay(
  begun: LedgerDay,
  { counts, closes }: SentDay,
  { isRepeated, ...result }: SendResult,
  now: string,
): LedgerDay {
  const doubtedUntil = laterOf(begun.doubtedUntil, isRepeated ? lastArrivalOf(now) : null);
  if (result.state !== 'answered') return { ...begun, ...result, doubtedUntil };
  const answered = toCounts((name) => counts[name] ?? begun.answered[name]);
  const closedAt = closes ? now : begun.closedAt;
  const lowered = lowerDay(begun, answered, now);
  const isSettled = doubtedUntil !== null && begun.sentAt >= doubtedUntil;
  const known = { answered, answeredAt: now, closedAt, lowered, doubtedUntil: isSettled ? null : doubtedUntil };
  return { ...begun, ...result, ...known };
}

function lowerDay({ answered: before, lowered }: LedgerDay, after: Counts, now: string) {
  const from = maxCounts(before, lowered?.from ?? noCounts);
  if (!isLower(after, from)) return null;
  return { at: isLower(after, before) ? now : (lowered?.at ?? now), from };
}

/**
 * Whether an earlier request without an answer may have arrived after the last one that the marketplace accepted. Then
 * only a new request makes sure what the marketplace has.
 */
export function isDoubted({ state, sentAt, doubtedUntil }: LedgerDay): boolean {
  return doubtedUntil !== null && (state !== 'answered' || sentAt < doubtedUntil);
}

function lastArrivalOf(sentAt: string): string {
  return new Date(Date.parse(sentAt) + longestTransitMs).toISOString();
}

function laterOf(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}
