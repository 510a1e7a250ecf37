import type { Adapter, Invitation, Member, Person } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { AppError, isTransient, toAppError } from '../domain/errors.ts';
import type { MembershipState } from '../domain/membership.ts';
import { notListed } from '../domain/tool-trouble.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { backoffMs, retry } from '../lib/retry.ts';
import { isProtected } from '../tools/accounts.ts';
import { callTool } from '../tools/call-tool.ts';
import type { AccountUse } from './account-store.ts';
import { type Attempt, convergeLeaseMs, prolongClaim } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import type { NewInvitation } from './invitation-store.ts';
import { isMembershipOurs, judgeAccountId } from './ownership.ts';
import type { Intent } from './receipt-store.ts';
import { commitIntent } from './settle-store.ts';

// The steps of converging: look, intent, call, read-back.

/** The default time between the two looks that confirm a removal. */
export const usualSecondLookMs = 60_000;

/** The adapter of a tool, and the configuration of calls to it. */
export function toolOf({ config, adapters }: Context, tool: string) {
  const [settings, adapter] = [config.tools.get(tool), adapters.get(tool)];
  if (settings === undefined || adapter === undefined) throw new AppError('internal', `There is no tool ${tool}`);
  const { concurrency, protected: protectedAccounts } = settings;
  // A look and a call must fit into the lease, whatever is configured.
  return { adapter, concurrency, protectedAccounts, timeoutMs: Math.min(settings.timeoutMs, convergeLeaseMs / 2) };
}

/** Makes one call, which must end within the time limit of the tool. */
export async function askTool<T>(
  ctx: Context,
  { tool, signal: stopping }: Pick<Attempt, 'tool' | 'signal'>,
  ask: (adapter: Adapter, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { adapter, timeoutMs } = toolOf(ctx, tool);
  return await callTool(timeoutMs, stopping, (signal) => ask(adapter, signal));
}

export function isProtectedIn(ctx: Context, tool: string, member: Member): boolean {
  return isProtected(toolOf(ctx, tool).protectedAccounts, member);
}

/** A member with an address of a managed domain is ours, even if others added it. */
export function isOwnMembership({ config }: Context, claim: Attempt, found: Member): boolean {
  return isMembershipOurs(claim, found, config.marketplace.managedDomains);
}

const hourMs = 3_600_000;
export const refusedRetryMs = hourMs;

/** Transient failures are retried with back-off, refusals once an hour. */
export function toFailure(claim: Attempt, error: AppError, clock: Clock): ConvergeResult {
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
    // Adapters are foreign code, and their errors may quote an address.
    message: maskText(error.message).slice(0, 300),
  };
}

/** A removal that cannot be proven. It is repeated every hour, until an operator removes the accounts. */
export function toUnproven(
  clock: Clock,
  result: Pick<ConvergeResult, 'outcome' | 'message' | 'mayBeIn'>,
): ConvergeResult {
  const nextAttemptAt = instantIn(clock, refusedRetryMs);
  return { operation: 'remove', state: 'failed', errorCode: 'conflict', nextAttemptAt, ...result };
}

/** A settled state, with the time of the next look. */
export function settledAs(clock: Clock, state: MembershipState) {
  return { state, nextAttemptAt: state === 'invited' ? nextFullHour(clock.now()) : null };
}

/**
 * No tool reports accepted invitations. All invited members are looked for at one time, so that one list serves all.
 */
function nextFullHour(now: Date): string {
  return new Date((Math.floor(now.getTime() / hourMs) + 1) * hourMs).toISOString();
}

/**
 * Commits the intent before the call that carries it out.
 *
 * @returns null if the call must not be made
 */
export async function beginCall(ctx: Context, claim: Attempt, intent: Intent): Promise<AccountUse | null> {
  const now = toInstant(ctx.clock.now());
  const begunAt = performance.now();
  const begun = await commitIntent(ctx, claim, intent, now, instantIn(ctx.clock, convergeLeaseMs));
  // If the process was frozen meanwhile, another worker may hold the lease.
  return performance.now() - begunAt > convergeLeaseMs / 2 ? null : begun;
}

export interface LookResult {
  found: Member | null;
  /** The account that now has the known id, if it may belong to another person. */
  stray: Member | null;
}

/**
 * Finds a member in the group. An id is believed only together with a current or former address of the trainer.
 * Otherwise the search is repeated without the id.
 */
export async function look(ctx: Context, claim: Attempt, person: Person): Promise<LookResult> {
  const found = await findInGroup(ctx, claim, person);
  if (found === null || found.id !== person.memberId) return { found, stray: null };
  const identity = judgeAccountId(claim, found);
  if (identity === 'confirmed' || identity === 'unverifiable') return { found, stray: null };
  const anew = await findInGroup(ctx, claim, { ...person, memberId: null });
  return { found: anew, stray: anew?.id === found.id ? null : found };
}

/** Finds a member without checking whose id it is. */
export async function findInGroup(ctx: Context, claim: Attempt, person: Person): Promise<Member | null> {
  return await askTool(ctx, claim, (adapter, signal) => adapter.findMember(claim.groupId, person, signal));
}

/**
 * Whether the trainer was invited by a link that names nobody. The tool lists such members only after they have used
 * the link, so they must not be invited again.
 */
export function isUnlisted(ctx: Context, { tool, state, memberId }: Attempt): boolean {
  // The tool now makes logins instead, so the member gets one.
  if (toolOf(ctx, tool).adapter.capabilities.invitation === 'password') return false;
  return state === 'invited' && memberId !== null && memberId.startsWith('invited:');
}

const longestListAgeMs = 15_000;

/**
 * The maximum age of a list in which a member is searched, so that one list serves all memberships that are due at
 * about the same time. The list must be newer than the due time. It must be fresh if a call may have added the member,
 * or if the member is not wanted.
 */
export function maxListAgeMs(ctx: Context, claim: Attempt): number {
  const wasLetIn = claim.addresses.some(({ givenAt }) => givenAt !== null);
  if (!claim.wanted || (wasLetIn && !isUnlisted(ctx, claim))) return 0;
  const dueForMs = ctx.clock.now().getTime() - Date.parse(claim.dueAt);
  return Math.max(0, Math.min(dueForMs, longestListAgeMs));
}

/** Reads back a few times, because a tool may need a moment to show a change. @throws if it does not show the change */
export async function readUntil(ctx: Context, claim: Attempt, person: Person): Promise<Member | null> {
  const readBack = async () => {
    const { found: member } = await look(ctx, claim, person);
    // Another account may now have the address, so a removed member is recognised by id.
    const isThere = member !== null && (claim.wanted || member.id === person.memberId);
    if (isThere === claim.wanted) return member;
    const says = claim.wanted ? notListed : 'The tool says it removed the member but still lists them';
    throw new AppError('unavailable', says);
  };
  return await retrySoon(readBack, claim.signal);
}

/** Checks the whole tool, because the group alone does not show an account that is only hidden. */
export async function readUntilEnded(ctx: Context, claim: Attempt, { id }: Member): Promise<void> {
  await retrySoon(async () => {
    const account = await askTool(ctx, claim, (adapter, signal) =>
      Promise.resolve(adapter.findAccountById?.(id, signal)),
    );
    if (account == null) return;
    throw new AppError('unavailable', 'The tool says it ended the account but still has it');
  }, claim.signal);
}

async function retrySoon<T>(readBack: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return await retry(readBack, { attempts: 3, firstWaitMs: 100, maxWaitMs: 500, signal });
}

const mostParts = 1000;

/**
 * Ends the assignments of a removed member, in tools that keep them. The adapter works in parts, each with a time limit
 * of its own. The member counts as removed only after the last part.
 *
 * @returns false if the claim no longer holds
 */
export async function endAssignments(
  ctx: Context,
  claim: Attempt,
  { member, project = null }: { member: Member; project?: string | null },
): Promise<boolean> {
  const { endAssignments: end } = toolOf(ctx, claim.tool).adapter;
  if (end === undefined) return true;
  for (let parts = 0; parts < mostParts; parts += 1) {
    const leasedUntil = instantIn(ctx.clock, convergeLeaseMs);
    if (!(await prolongClaim(ctx, claim, toInstant(ctx.clock.now()), leasedUntil))) return false;
    const left = await askTool(ctx, claim, (adapter, signal) =>
      end.call(adapter, claim.groupId, member, project, signal),
    );
    if (left === 'done') return true;
  }
  throw new AppError('unavailable', 'The tool still reports assignments of the member');
}

/**
 * Renews the invitation of an invited member, if that is requested. A failure does not affect the breaker of the tool.
 */
export async function renewWantedInvitation(ctx: Context, claim: Attempt): Promise<ConvergeResult> {
  const waiting = { operation: 'add', ...settledAs(ctx.clock, 'invited') } as const;
  const { renewInvitation } = toolOf(ctx, claim.tool).adapter;
  if (!claim.isRenewalWanted || renewInvitation === undefined || claim.memberId === null) {
    return { ...waiting, outcome: 'already_member' };
  }
  const member = { id: claim.memberId, email: claim.email };
  try {
    const renewed = await askTool(ctx, claim, (adapter, signal) =>
      renewInvitation.call(adapter, claim.groupId, member, signal),
    );
    const invitation = toNewInvitation(renewed, null);
    return { ...waiting, outcome: 'invited', ...(invitation !== undefined && { invitation }) };
  } catch (error) {
    if (claim.signal.aborted) throw error;
    return { ...toFailure(claim, toAppError(error), ctx.clock), isOfToolItself: false };
  }
}

/**
 * A removed member may know the link that all members share, so it must be reset, even if no member was found. The
 * removal requests the reset. One more look follows the reset, and does not request another one.
 */
export function withReset(
  ctx: Context,
  { tool, state, missedAt }: Pick<Attempt, 'tool' | 'state' | 'missedAt'>,
  result: ConvergeResult,
): ConvergeResult {
  const isLastLook = state === 'removed' || missedAt !== null;
  if (toolOf(ctx, tool).adapter.resetInvitations === undefined || isLastLook) return result;
  return { ...result, wantsReset: true };
}

/** @param password the password of the new login, if there is one */
export function toNewInvitation(
  invitation: Invitation | undefined,
  password: string | null,
): NewInvitation | undefined {
  if (invitation === undefined) return undefined;
  const { kind, url } = invitation;
  if (kind === 'link') return { content: { kind, url }, expiresAt: invitation.expiresAt };
  if (password === null) return undefined;
  const { username } = invitation;
  return { content: { kind, url, username, password }, expiresAt: null };
}
