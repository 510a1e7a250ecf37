import type { Claim } from './claim-store.ts';
import type { ConvergeResult } from './settle-store.ts';

/**
 * When what a look shows counts for good (design section 2, *Identity*). A call of which nobody knows
 * the end may still be done, an add as well as a removal, until its time-out has passed once more. And
 * a look that finds nobody, with no call of ours after it, may be wrong: an answer was empty, a page
 * shifted, a list lags behind. Both are looked at again when that is over, and at the next reading.
 * Pure.
 */
export interface Unconfirmed {
  /** Until when a call may still arrive of which nobody knows the end. */
  lateUntil: string | null;
  /** When a look found nobody who is to be out, for the first time. */
  missedAt: string | null;
}

type Known = Pick<Claim, 'wanted' | 'state' | keyof Unconfirmed>;

interface LookFacts {
  /** When it began. */
  lookedAt: string;
  /** Whether each access that was given was taken away by a call that has ended. */
  isCalled: boolean;
  /** How long a second look waits after one that found nobody. */
  secondLookMs: number;
}

/** @returns what is to be settled: where it does not count yet, when it is to be looked at again */
export function confirmResult(claim: Known, result: ConvergeResult, look: LookFacts): ConvergeResult {
  if (claim.wanted) return confirmIn(claim, result, look);
  if (result.state !== 'removed' || result.outcome === 'kept_for_another') return result;
  return confirmOut(claim, result, look);
}

function confirmIn({ lateUntil }: Known, result: ConvergeResult, { lookedAt }: LookFacts): ConvergeResult {
  const unconfirmed = { lateUntil, missedAt: null };
  const isIn = result.state === 'active' || result.state === 'invited';
  const nextAttemptAt = isIn && mayArrive(lateUntil, lookedAt) ? lateUntil : null;
  if (nextAttemptAt === null) return { ...result, unconfirmed };
  return { ...result, unconfirmed, nextAttemptAt: earliest(result.nextAttemptAt, nextAttemptAt) };
}

function confirmOut(
  { state, lateUntil, missedAt }: Known,
  result: ConvergeResult,
  { lookedAt, isCalled, secondLookMs }: LookFacts,
): ConvergeResult {
  if (isCalled && !mayArrive(lateUntil, lookedAt)) {
    return { ...result, unconfirmed: { lateUntil: null, missedAt: null } };
  }
  // Whoever counts as out already is looked for by a reading, or once a link has become worthless.
  if (state === 'removed') return keepOurs(result, { lateUntil, missedAt });
  const since = missedAt ?? lookedAt;
  const countsFrom = latest(after(since, secondLookMs), lateUntil ?? '');
  const unconfirmed = { lateUntil, missedAt: since };
  if (missedAt !== null && lookedAt >= countsFrom) return keepOurs(result, unconfirmed);
  return keepOurs({ ...result, state: 'removing', nextAttemptAt: countsFrom }, unconfirmed);
}

function mayArrive(lateUntil: string | null, lookedAt: string): boolean {
  return lateUntil !== null && lookedAt < lateUntil;
}

/** What we made stays ours until nothing is left to be confirmed. */
function keepOurs(result: ConvergeResult, unconfirmed: Unconfirmed): ConvergeResult {
  if (unconfirmed.missedAt === null) return { ...result, unconfirmed };
  const { isOurs: _, ...kept } = result;
  return { ...kept, unconfirmed };
}

function after(instant: string, ms: number): string {
  return new Date(Date.parse(instant) + ms).toISOString();
}

function earliest(a: string | null, b: string): string {
  return a === null || b < a ? b : a;
}

function latest(a: string, b: string): string {
  return a > b ? a : b;
}
