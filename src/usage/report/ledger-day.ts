import { type Counts, type Day, isLower, type LedgerState, maxCounts, noCounts, toCounts } from '../../domain/usage.ts';

/** What was reported for one day, and what came of it. */
export interface LedgerDay {
  trainerId: string;
  day: Day;
  /** What was answered last; all null where nothing was. */
  answered: Counts;
  /** What was sent last, whatever came of it. */
  tried: Counts;
  state: LedgerState;
  sentAt: string;
  answeredAt: string | null;
  /** When it was sent for the last time, as it had left the look-back; null before that. */
  closedAt: string | null;
  /** Until then a request may arrive of which nobody knows the end. */
  doubtedUntil: string | null;
  /** Since when what would lower it waits for somebody to look. */
  heldSince: string | null;
  /** What was reported less than before, and has not risen to that again. */
  lowered: Lowered | null;
  /** Of the last request that was answered, whatever the answer. */
  status: number | null;
  requestId: string | null;
  message: string | null;
}

export interface Lowered {
  at: string;
  /** The most that had been answered before. */
  from: Counts;
}

/** A day as it is sent. */
export interface SentDay {
  trainerId: string;
  day: Day;
  counts: Counts;
  /** Whether it is the last time. */
  closes: boolean;
}

export interface SendResult {
  state: 'answered' | 'refused' | 'unsent';
  status: number | null;
  requestId: string | null;
  message: string | null;
  /** Whether the same was sent before, in vain, and may arrive later. */
  isRepeated: boolean;
}

/** After so long no request arrives any more that nobody has heard of. */
const longestOnItsWayMs = 10 * 60_000;

/** Pure: it is being sent, and until it is settled nobody knows what arrived. */
export function beginDay(known: LedgerDay | undefined, { trainerId, day, counts }: SentDay, sentAt: string): LedgerDay {
  const wasUnheard = known?.state === 'in_doubt';
  return {
    trainerId,
    day,
    tried: counts,
    state: 'in_doubt',
    sentAt,
    heldSince: null,
    answered: known?.answered ?? noCounts,
    answeredAt: known?.answeredAt ?? null,
    closedAt: known?.closedAt ?? null,
    lowered: known?.lowered ?? null,
    // Whatever was under way before may arrive after what is sent now, and after what comes next.
    doubtedUntil: laterOf(known?.doubtedUntil ?? null, wasUnheard ? endOfWay(known.sentAt) : null),
    status: known?.status ?? null,
    requestId: known?.requestId ?? null,
    message: known?.message ?? null,
  };
}

/** Pure: what was begun has been answered. */
export function settleDay(
  begun: LedgerDay,
  { counts, closes }: SentDay,
  { isRepeated, ...result }: SendResult,
  now: string,
): LedgerDay {
  const doubtedUntil = laterOf(begun.doubtedUntil, isRepeated ? endOfWay(now) : null);
  if (result.state !== 'answered') return { ...begun, ...result, doubtedUntil };
  const answered = toCounts((name) => counts[name] ?? begun.answered[name]);
  const closedAt = closes ? now : begun.closedAt;
  const lowered = lowerDay(begun, answered, now);
  return { ...begun, ...result, answered, answeredAt: now, closedAt, doubtedUntil, lowered };
}

function lowerDay({ answered: before, lowered }: LedgerDay, after: Counts, now: string) {
  const from = maxCounts(before, lowered?.from ?? noCounts);
  if (!isLower(after, from)) return null;
  return { at: isLower(after, before) ? now : (lowered?.at ?? now), from };
}

/**
 * Whether a request that was sent earlier may have arrived after the one that was answered: until
 * that is over nobody can tell, and after it only what is sent anew is certain to stand.
 */
export function isDoubted({ sentAt, doubtedUntil }: LedgerDay): boolean {
  return doubtedUntil !== null && sentAt < doubtedUntil;
}

function endOfWay(sentAt: string): string {
  return new Date(Date.parse(sentAt) + longestOnItsWayMs).toISOString();
}

function laterOf(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}
