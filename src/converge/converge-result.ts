import type { Row } from '../db/schema.ts';
import type { ErrorCode } from '../domain/errors.ts';
import type { MembershipState, ReceiptOutcome, ToolOperation } from '../domain/membership.ts';
import { instantAfter } from '../lib/clock.ts';
import type { NewInvitation } from './invitation-store.ts';

/** The result of acting on a claim, as it is settled. */
export interface ConvergeResult {
  operation: ToolOperation;
  outcome: ReceiptOutcome;
  state: MembershipState;
  /** The member's id in the tool. If it is left out, the stored one stays. */
  memberId?: string;
  isOurs?: boolean;
  /** Whether we made the account. Left out if that is unknown. */
  isAccountOurs?: boolean;
  /** When the tool made the account. */
  madeAt?: string;
  /** Whether the account in doubt is gone, or settled. */
  isDoubtSettled?: true;
  /** When to try again; null if nothing is left to do. */
  nextAttemptAt: string | null;
  errorCode?: ErrorCode;
  /** False if the breaker must ignore the failure. */
  isOfToolItself?: false;
  retryAfterMs?: number | undefined;
  toolStatus?: number | undefined;
  message?: string | undefined;
  /** The invitation that the trainer needs to get in. */
  invitation?: NewInvitation;
  /** Whether a password was generated, which can be forgotten once the member is in. */
  hasPassword?: boolean;
  /**
   * If absence cannot be proven: the accounts by which the member may still be in, as they are shown to an operator.
   */
  mayBeIn?: readonly string[];
  /** Whether a call has an unknown outcome. */
  isUnanswered?: true;
  /** What must be confirmed by another look. If it is left out, the stored values stay. */
  unconfirmed?: Unconfirmed;
  /** Whether the shared link must be reset. */
  wantsReset?: boolean;
}

export interface SettledResult extends ConvergeResult {
  /** How long the trainer waited for access or for its end; null while the wait goes on. */
  metAfterMs: number | null;
}

export interface Unconfirmed {
  /** Until when a call with unknown outcome may still take effect. */
  lateUntil: string | null;
  /** When a look first did not find a member who is not wanted. */
  missedAt: string | null;
}

/** How long the trainer waited for access or for its end; null while the wait goes on. */
export function metAfterOf(
  { wanted, unmetSince }: { wanted: boolean; unmetSince: string | null },
  { state }: Pick<ConvergeResult, 'state'>,
  now: string,
): number | null {
  const isMet = wanted ? state === 'active' || state === 'invited' : state === 'removed';
  return isMet && unmetSince !== null ? Math.max(0, Date.parse(now) - Date.parse(unmetSince)) : null;
}

type UnconfirmedClaim = Pick<Row<'membership'>, 'wanted' | 'state' | 'lateUntil' | 'missedAt'>;

interface LookFacts {
  lookedAt: string;
  /** Whether calls with a known outcome have removed every access that was given. */
  isCalled: boolean;
  /** The time from the first look that found no member to the second one. */
  secondLookMs: number;
}

/**
 * Decides whether the result of a look is final (docs/rules.md, Identity). A call with unknown outcome may still take
 * effect until its time-out has passed once more, whether it adds or removes. A look that finds no member, without a
 * call of ours before it, may be wrong: an empty answer, a shifted page, a list that lags behind. In both cases another
 * look follows after that time, and at the next reading. Pure.
 *
 * @returns the result to settle; if it is not final, with the time of the next look
 */
export function confirmResult(claim: UnconfirmedClaim, result: ConvergeResult, look: LookFacts): ConvergeResult {
  if (claim.wanted) return confirmIn(claim, result, look);
  if (result.state !== 'removed' || result.outcome === 'kept_for_another') return result;
  return confirmOut(claim, result, look);
}

function confirmIn({ lateUntil }: UnconfirmedClaim, result: ConvergeResult, { lookedAt }: LookFacts): ConvergeResult {
  const unconfirmed = { lateUntil, missedAt: null };
  const isIn = result.state === 'active' || result.state === 'invited';
  const nextAttemptAt = isIn && mayArrive(lateUntil, lookedAt) ? lateUntil : null;
  if (nextAttemptAt === null) return { ...result, unconfirmed };
  return { ...result, unconfirmed, nextAttemptAt: earliest(result.nextAttemptAt, nextAttemptAt) };
}

function confirmOut(
  { state, lateUntil, missedAt }: UnconfirmedClaim,
  result: ConvergeResult,
  { lookedAt, isCalled, secondLookMs }: LookFacts,
): ConvergeResult {
  if (isCalled && !mayArrive(lateUntil, lookedAt)) {
    return { ...result, unconfirmed: { lateUntil: null, missedAt: null } };
  }
  // The membership is already removed: a reading, or the reset of a link, has requested this look.
  if (state === 'removed') return keepOurs(result, { lateUntil, missedAt });
  const since = missedAt ?? lookedAt;
  const confirmsAt = latest(instantAfter(since, secondLookMs), lateUntil ?? '');
  const unconfirmed = { lateUntil, missedAt: since };
  if (missedAt !== null && lookedAt >= confirmsAt) return keepOurs(result, unconfirmed);
  // The second look may still find an account in doubt.
  const { isDoubtSettled: _, ...open } = result;
  return keepOurs({ ...open, state: 'removing', nextAttemptAt: confirmsAt }, unconfirmed);
}

function mayArrive(lateUntil: string | null, lookedAt: string): boolean {
  return lateUntil !== null && lookedAt < lateUntil;
}

/** A membership of ours stays ours until its absence is confirmed. */
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
