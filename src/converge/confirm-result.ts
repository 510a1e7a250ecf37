import type { Member } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { instantAfter, instantIn } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { findKnownMembers } from '../memberships/account-owner-store.ts';
import type { Attempt, Claim } from './claim-store.ts';
import type { ConvergeResult, Unconfirmed } from './converge-result.ts';
import { askTool, isProtectedIn, refusedRetryMs } from './converge-steps.ts';

type Known = Pick<Claim, 'wanted' | 'state' | keyof Unconfirmed>;

interface LookFacts {
  lookedAt: string;
  /** Whether a call that has ended took away each access that was given. */
  isCalled: boolean;
  /** How long the second look waits after the first one that found no member. */
  secondLookMs: number;
}

/**
 * When the result of a look is final (docs/rules.md, Identity). A call with unknown outcome may still take effect
 * until its time-out has passed once more, whether it adds or removes. And a look that finds no member, without a call
 * of ours before it, may be wrong: an empty answer, a shifted page, a list that lags behind. In both cases the
 * membership is looked at again after that time, and at the next reading. Pure.
 *
 * @returns the result to settle; if it is not final yet, with the time of the next look
 */
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

/**
 * Proves that a member is out after a look that found none. If a call to add the member got no answer, or the tool
 * could not name the account, the member may be in under an unknown id. A tool that shows addresses would have shown
 * the member. A tool that shows none is asked for newcomers (docs/rules.md, Identity).
 *
 * @returns null if the member is out; otherwise the result to settle instead
 */
export async function proveAbsence(ctx: Context, claim: Attempt): Promise<ConvergeResult | null> {
  const since = unansweredSince(claim);
  if (since === null) return null;
  const strangers = await findStrangers(ctx, claim, since);
  if (strangers.length === 0) return null;
  return {
    operation: 'remove',
    outcome: 'refused',
    state: 'failed',
    errorCode: 'conflict',
    nextAttemptAt: instantIn(ctx.clock, refusedRetryMs),
    message: describeStrangers(claim, strangers),
    mayBeIn: strangers.map(({ id, name }) => (name === undefined ? id : `${id} ${maskText(name)}`)),
  };
}

/** When the first call to add the trainer began whose account id is not known; null if there is none. */
function unansweredSince({ memberId, addresses }: Attempt): string | null {
  if (memberId !== null) return null;
  return addresses.flatMap(({ givenAt }) => givenAt ?? []).sort()[0] ?? null;
}

/** Newcomers that belong to no known membership. */
async function findStrangers(ctx: Context, claim: Attempt, since: string): Promise<Member[]> {
  const newcomers = await askTool(ctx, claim, (adapter, signal) =>
    Array.fromAsync(adapter.listNewcomers?.(claim.groupId, since, signal) ?? []),
  );
  const ids = newcomers.map(({ id }) => id);
  const known = await findKnownMembers(ctx.database.kysely, claim, ids);
  return newcomers.filter((newcomer) => !known.has(newcomer.id) && !isProtectedIn(ctx, claim.tool, newcomer));
}

const mostShown = 5;

/** Names the accounts by id, because receipts must not contain names. */
function describeStrangers({ tool }: Attempt, strangers: readonly Member[]): string {
  const shown = strangers.slice(0, mostShown).map(({ id }) => id);
  const more = strangers.length > shown.length ? ` and ${strangers.length - shown.length} more` : '';
  return `The trainer may still be in as one of these accounts, because the tool never said which account it made for them: ${shown.join(', ')}${more}. Remove the trainer's account in ${tool}, and put the ids of the others into tools.${tool}.protected`;
}
