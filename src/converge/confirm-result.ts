import { instantAfter } from '../lib/clock.ts';
import type { Claim } from './claim-store.ts';
import type { ConvergeResult, Unconfirmed } from './converge-result.ts';

/**
 * When the result of a look is final (docs/rules.md, Identity). A call with unknown outcome may still take effect
 * until its time-out has passed once more, whether it adds or removes. And a look that finds no member, without a call
 * of ours before it, may be wrong: an empty answer, a shifted page, a list that lags behind. In both cases the
 * membership is looked at again after that time, and at the next reading. Pure.
 */

type Known = Pick<Claim, 'wanted' | 'state' | keyof Unconfirmed>;

interface LookFacts {
  /** When it began. */
  lookedAt: string;
  /** Whether a call that has ended took away each access that was given. */
  isCalled: boolean;
  /** How long the second look waits after the first one that found no member. */
  secondLookMs: number;
}

/** @returns the result to settle; if it is not final yet, with the time of the next look */
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
  // A member who already counts as removed is looked for by a reading, or after a link was reset.
  if (state === 'removed') return keepOurs(result, { lateUntil, missedAt });
  const since = missedAt ?? lookedAt;
  const countsFrom = latest(instantAfter(since, secondLookMs), lateUntil ?? '');
  const unconfirmed = { lateUntil, missedAt: since };
  if (missedAt !== null && lookedAt >= countsFrom) return keepOurs(result, unconfirmed);
  // An account in doubt that was not found may be found by the second look.
  const { isDoubtSettled: _, ...open } = result;
  return keepOurs({ ...open, state: 'removing', nextAttemptAt: countsFrom }, unconfirmed);
}

function mayArrive(lateUntil: string | null, lookedAt: string): boolean {
  return lateUntil !== null && lookedAt < lateUntil;
}

/** What we made stays ours until nothing is left to confirm. */
function keepOurs(result: ConvergeResult, unconfirmed: Unconfirmed): ConvergeResult {
  if (unconfirmed.missedAt === null) return { ...result, unconfirmed };
  const { isOurs: _, ...kept } = result;
  return { ...kept, unconfirmed };
}

function earliest(a: string | null, b: string): string {
  return a === null || b < a ? b : a;
}

function latest(a: string, b: string): string {
  return a > b ? a : b;
}
