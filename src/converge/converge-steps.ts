import type { Adapter, Member, Person } from '../adapters/adapter.ts';
import { AppError, isTransient } from '../domain/errors.ts';
import type { MembershipState } from '../domain/membership.ts';
import type { Alerts } from '../lib/alerts.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { retry } from '../lib/retry.ts';
import { callTool } from '../tools/call-tool.ts';
import type { AccountUse } from './account-store.ts';
import type { Claim, ClaimStore } from './claim-store.ts';
import type { Intent } from './intent-store.ts';
import { judgeAccountId } from './ownership.ts';
import type { ConvergeResult, SettleStore } from './settle-store.ts';

/** What bringing a membership in line is made of: a look, an intent, a call, and a read back. */

export interface ConvergeDeps {
  claims: ClaimStore;
  settling: SettleStore;
  adapter: Adapter;
  /** The longest a call may take: half a lease at most, so that none outlives its lease. */
  timeoutMs: number;
  /** Accounts that are never touched: addresses, or the tool's ids. */
  protectedAccounts: readonly string[];
  /** Whoever has an address of these is ours, whoever put them there. */
  managedDomains: readonly string[];
  /**
   * Whether accounts may be ended, renamed or activated: not where customers share the tool and any
   * of them may name an address of anybody's.
   */
  mayChangeAccounts(): boolean;
  alerts: Alerts;
  clock: Clock;
  /** How long a second look waits after one that found nobody who is to be out. */
  secondLookMs: number;
}

/** A dead worker's work is taken over after this long. */
export const convergeLeaseMs = 30_000;

/** How long a look that found nobody waits for the second one, unless the app says otherwise. */
export const usualSecondLookMs = 60_000;

const hourMs = 3_600_000;
export const refusedRetryMs = hourMs;

/** What may pass is tried again soon, then ever later; a refusal once an hour. */
export function toFailure(claim: Claim, error: AppError, clock: Clock): ConvergeResult {
  const { attempts, state, wanted } = claim;
  const mayHaveBeenDone = error.code === 'unavailable' || error.code === 'internal';
  const transient = isTransient(error);
  const waitMs = transient ? backoffMs(attempts + 1, error.retryAfterMs) : refusedRetryMs;
  return {
    operation: wanted ? 'add' : 'remove',
    outcome: transient ? 'failed' : 'refused',
    state: transient ? state : 'failed',
    nextAttemptAt: instantIn(clock, waitMs),
    errorCode: error.code,
    ...(mayHaveBeenDone && { isUnanswered: true }),
    retryAfterMs: error.retryAfterMs,
    toolStatus: error.status,
    // Adapters are others' code, and what they throw may quote an address.
    message: maskText(error.message).slice(0, 300),
  };
}

/** A settled state, and when it is worth another look. */
export function settledAs(clock: Clock, state: MembershipState) {
  return { state, nextAttemptAt: state === 'invited' ? nextFullHour(clock.now()) : null };
}

/** Nobody tells when an invitation is accepted: all who wait are looked for at once, by one list. */
function nextFullHour(now: Date): string {
  return new Date((Math.floor(now.getTime() / hourMs) + 1) * hourMs).toISOString();
}

/** Commits what is meant before the call that does it. @returns null where it must not be made */
export async function beginCall(
  { settling, clock }: Pick<ConvergeDeps, 'settling' | 'clock'>,
  claim: Claim,
  intent: Intent,
): Promise<AccountUse | null> {
  const now = toInstant(clock.now());
  const begunAt = performance.now();
  const begun = await settling.begin(claim, intent, now, instantIn(clock, convergeLeaseMs));
  // A process that was frozen meanwhile wakes up with a lease that is somebody else's by now.
  return performance.now() - begunAt > convergeLeaseMs / 2 ? null : begun;
}

export interface LookResult {
  found: Member | null;
  /** What has the id by now that was theirs, where that is not known to be theirs any more. */
  stray: Member | null;
}

/**
 * Finds somebody in the group. An id is believed only with an address that they have or had: else
 * they are looked for anew, by whatever else identifies a person in the tool.
 */
export async function look(
  deps: Pick<ConvergeDeps, 'adapter' | 'timeoutMs'>,
  claim: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<LookResult> {
  const found = await findInGroup(deps, claim, person, signal);
  if (found === null || found.id !== person.memberId) return { found, stray: null };
  const identity = judgeAccountId(claim, found);
  if (identity === 'confirmed' || identity === 'unverifiable') return { found, stray: null };
  const anew = await findInGroup(deps, claim, { ...person, memberId: null }, signal);
  return { found: anew, stray: anew?.id === found.id ? null : found };
}

/** Without asking whether who has the id is still who had it. */
export async function findInGroup(
  { adapter, timeoutMs }: Pick<ConvergeDeps, 'adapter' | 'timeoutMs'>,
  { groupId }: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  return await callTool(timeoutMs, signal, (callSignal) => adapter.findMember(groupId, person, callSignal));
}

/**
 * Whether somebody was invited by a link of which the tool does not know who has it: it does not
 * show them before they have used it, and that is no reason to invite them again.
 */
export function isUnlisted({ capabilities }: Adapter, { state, memberId }: Claim): boolean {
  // It was set up otherwise since: whoever still waits for a link is given a login.
  if (capabilities.invitation === 'password') return false;
  return state === 'invited' && memberId !== null && memberId.startsWith('invited:');
}

const longestListAgeMs = 15_000;

/**
 * How old a list may be in which somebody is looked for, so that one serves all who are due at about
 * the same time. Never older than the wish; and where a call may have let them in, or they are to be
 * out, what was so before proves nothing.
 */
export function maxListAgeMs({ adapter, clock }: ConvergeDeps, claim: Claim): number {
  const wasLetIn = claim.addresses.some(({ givenAt }) => givenAt !== null);
  if (!claim.wanted || (wasLetIn && !isUnlisted(adapter, claim))) return 0;
  const dueForMs = clock.now().getTime() - Date.parse(claim.dueAt);
  return Math.max(0, Math.min(dueForMs, longestListAgeMs));
}

/** Tools may need a moment to show what they did; one that never does has not done it. */
export async function readUntil(
  deps: ConvergeDeps,
  claim: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  const readBack = async () => {
    const { found: member } = await look(deps, claim, person, signal);
    // Somebody else may have the address by now: who was taken out is known by their id.
    const isThere = member !== null && (claim.wanted || member.id === person.memberId);
    if (isThere === claim.wanted) return member;
    const [did, shows] = claim.wanted ? ['added', 'does not list'] : ['removed', 'still lists'];
    throw new AppError('unavailable', `The tool says it ${did} the member but ${shows} them`);
  };
  return await retrySoon(readBack, signal);
}

/** Where a look at the group alone would not show an account that was only hidden. */
export async function readUntilEnded(
  { adapter, timeoutMs }: Pick<ConvergeDeps, 'adapter' | 'timeoutMs'>,
  { id }: Member,
  signal: AbortSignal,
): Promise<void> {
  await retrySoon(async () => {
    const account = await callTool(timeoutMs, signal, (callSignal) =>
      Promise.resolve(adapter.findAccountById?.(id, callSignal)),
    );
    if (account == null) return;
    throw new AppError('unavailable', 'The tool says it ended the account but still has it');
  }, signal);
}

async function retrySoon<T>(readBack: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return await retry(readBack, { attempts: 3, firstWaitMs: 100, maxWaitMs: 500, signal });
}

const mostParts = 1000;

/**
 * Takes away what is assigned to whoever was taken out, where the tool leaves it with them: part by
 * part, each in a time of its own. Nobody counts as out before.
 *
 * @returns false where the claim no longer holds
 */
export async function endAssignments(
  { adapter, claims, timeoutMs, clock }: ConvergeDeps,
  claim: Claim,
  { member, project = null }: { member: Member; project?: string | null },
  signal: AbortSignal,
): Promise<boolean> {
  const { endAssignments: end } = adapter;
  if (end === undefined) return true;
  for (let parts = 0; parts < mostParts; parts += 1) {
    const leasedUntil = instantIn(clock, convergeLeaseMs);
    if (!(await claims.prolong(claim, toInstant(clock.now()), leasedUntil))) return false;
    const left = await callTool(timeoutMs, signal, (callSignal) =>
      end.call(adapter, claim.groupId, member, project, callSignal),
    );
    if (left === 'done') return true;
  }
  throw new AppError('unavailable', 'What is assigned to the member does not come to an end');
}
