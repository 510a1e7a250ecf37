import type { Member, Person } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { instantIn } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { findKnownMembers } from '../memberships/identity-store.ts';
import { adviseOnDoubt } from '../memberships/ownership-store.ts';
import { mayChange } from '../tools/accounts.ts';
import { forgetMemberId, isBoundToAnother } from './access-store.ts';
import { isAccountKnownAsOurs } from './account-store.ts';
import type { Attempt } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import {
  askTool,
  findInGroup,
  isProtectedIn,
  type LookResult,
  refusedRetryMs,
  toolOf,
  toUnproven,
} from './converge-steps.ts';
import { isMembershipOurs, judgeAccountId } from './ownership.ts';
import { wasSeenSinceAdded } from './receipt-store.ts';
import { removeMembership } from './remove-membership.ts';

// Accounts that the group does not show, or whose owner is in doubt (docs/rules.md, Identity).

/** Forgets the id: the account with it is neither removed nor used as the trainer's. */
export async function disownAccount(ctx: Context, claim: Attempt, stray: Member): Promise<Attempt> {
  // Only a member whom we added must be removed later.
  const isInDoubt = claim.isOurs && judgeAccountId(claim, stray) !== 'other_account';
  const disowned = isInDoubt ? { ...claim, doubtedId: stray.id } : claim;
  const forget = () => inTransaction(ctx.database, (tx) => forgetMemberId(tx, claim, stray.id, isInDoubt));
  if (!(await forget())) return disowned;
  // In some tools ids are addresses.
  const account = maskText(stray.id).slice(0, 60);
  const message = isInDoubt
    ? `Account ${account} now shows an email that no install has reported for the trainer. Its work is not reported. Find out in ${claim.tool} whose account it is, then run: ${adviseOnDoubt(claim.id)}`
    : `The tool gave the id to account ${account}, as after a restored backup. Gangway looks for the trainer by email`;
  raiseIdOfAnother(ctx, claim, account, message);
  return disowned;
}

/**
 * Refuses an account without an address whose id is known as another trainer's, because nothing tells the two apart.
 */
export async function refuseAccountOfAnother(ctx: Context, claim: Attempt, { id, email }: Member): Promise<void> {
  if (email !== null || id === claim.memberId) return;
  if (!(await isBoundToAnother(ctx.database.kysely, claim, id))) return;
  const { tool } = claim;
  const account = maskText(id).slice(0, 60);
  const message = `Account ${account} is known as another trainer's, and ${tool} shows no email to tell whose it is. Find out in ${tool}, and end the wrong membership`;
  // Not at every try.
  if (claim.attempts === 0) raiseIdOfAnother(ctx, claim, account, message);
  throw new AppError('conflict', message);
}

function raiseIdOfAnother({ alerts }: Context, claim: Attempt, account: string, message: string): void {
  const { tool, groupId: group, trainerId: trainer, id: membership } = claim;
  alerts.raise('id_of_another', { tool, group, trainer, membership, account }, message);
}

const noAccount: LookResult = { found: null, stray: null };

/**
 * Finds an account that we made and that the group does not show. A hidden member, or one whom others removed, could
 * still get in by it. Only needed if a removal also ends the account.
 */
export async function findHiddenAccount(ctx: Context, claim: Attempt, person: Person): Promise<LookResult> {
  if (toolOf(ctx, claim.tool).adapter.removeAccount === undefined || !mayChange(ctx, claim.tool)) return noAccount;
  const isOurs = (account: Member) => isAccountKnownAsOurs(ctx, claim, account);
  return await findAccountOf(ctx, claim, person, isOurs);
}

/**
 * In a tool that may not list a member whom we added, presumes the member present until the tool confirms the removal.
 * With `if_never_seen` the tool shows nothing that tells whose an id is. There this is limited to members whom no look
 * has ever found, because later the id may belong to another person.
 */
export async function presumePresent(ctx: Context, claim: Attempt, person: Person): Promise<LookResult> {
  const { isOurs, memberId, email } = claim;
  const { capabilities, findAccountById } = toolOf(ctx, claim.tool).adapter;
  const { removesUnseen = false } = capabilities;
  if (!removesUnseen) return noAccount;
  if (removesUnseen === 'if_never_seen' && (await wasSeenSinceAdded(ctx.database.kysely, claim.id))) return noAccount;
  if (findAccountById !== undefined) {
    const isOurs = async (account: Member) =>
      isMembershipOurs(claim, account, []) && (await lookById(ctx, claim, account.id)) !== null;
    return await findAccountOf(ctx, claim, person, isOurs);
  }
  return isOurs && memberId !== null ? { found: { id: memberId, email }, stray: null } : noAccount;
}

/** Finds the trainer's account in the whole tool. */
async function findAccountOf(
  ctx: Context,
  claim: Attempt,
  person: Person,
  isOurs: (account: Member) => Promise<boolean>,
): Promise<LookResult> {
  const account = await searchAccount(ctx, claim, person);
  if (account === null || !(await isOurs(account))) return noAccount;
  const isSameAccount = account.id !== person.memberId || judgeAccountId(claim, account) === 'confirmed';
  return isSameAccount ? { found: account, stray: null } : { found: null, stray: account };
}

/** The strongest look: by id if it is known, otherwise by address. */
async function searchAccount(ctx: Context, claim: Attempt, person: Person): Promise<Member | null> {
  const { memberId } = person;
  return await askTool(ctx, claim, async (adapter, signal) => {
    const { findAccount, findAccountById } = adapter;
    const known = memberId === null ? undefined : await findAccountById?.call(adapter, memberId, signal);
    return known ?? (await findAccount?.call(adapter, person, signal)) ?? null;
  });
}

interface ResolvedDoubt {
  result: ConvergeResult;
  /** Whether the tool showed the account; true if no account is in doubt. */
  isSeen: boolean;
}

/**
 * A member with an account in doubt is removed only once an operator has decided, or two looks have found no such
 * account.
 *
 * @returns null if the claim no longer holds
 */
export async function resolveDoubt(
  ctx: Context,
  claim: Attempt,
  result: ConvergeResult,
): Promise<ResolvedDoubt | null> {
  const { doubtedId: id, email } = claim;
  if (id === null || email === null) return { result, isSeen: true };
  const { trainerId, displayName } = claim;
  const person = { trainerId, displayName, email, memberId: id };
  const inGroup = await findInGroup(ctx, claim, person);
  const found = inGroup?.id === id ? inGroup : await lookById(ctx, claim, id);
  if (found === null) return { result: { ...result, isDoubtSettled: true }, isSeen: false };
  const identity = judgeAccountId(claim, found);
  if (identity === 'other_account') return { result: { ...result, isDoubtSettled: true }, isSeen: true };
  if (identity === 'confirmed') {
    const own = { ...claim, memberId: id };
    const removed = await removeMembership(ctx, own, { person, found });
    return removed && { result: { ...removed, isDoubtSettled: true }, isSeen: true };
  }
  const message = `An account of the trainer now shows an email that no install has reported, and may still be theirs. Run: ${adviseOnDoubt(claim.id)}`;
  if (result.outcome !== 'removed') throw new AppError('conflict', message);
  const held = { ...result, state: 'failed', nextAttemptAt: instantIn(ctx.clock, refusedRetryMs), message } as const;
  return { result: held, isSeen: true };
}

async function lookById(ctx: Context, claim: Attempt, id: string): Promise<Member | null> {
  return await askTool(ctx, claim, async (adapter, signal) => (await adapter.findAccountById?.(id, signal)) ?? null);
}

/**
 * Checks that a member whom no look found is out. If a call to add the member got no answer, or the tool did not name
 * the account, the member may be in under an unknown id. A tool that shows addresses would have shown the member. A
 * tool that shows none is asked for newcomers (docs/rules.md, Identity).
 *
 * @returns null if the member is out; otherwise the result to settle instead
 */
export async function proveAbsence(ctx: Context, claim: Attempt): Promise<ConvergeResult | null> {
  const since = unansweredSince(claim);
  if (since === null) return null;
  const strangers = await findStrangers(ctx, claim, since);
  if (strangers.length === 0) return null;
  return toUnproven(ctx.clock, {
    outcome: 'refused',
    message: describeStrangers(claim, strangers),
    mayBeIn: strangers.map(({ id, name }) => (name === undefined ? id : `${id} ${maskText(name)}`)),
  });
}

/** When the first call to add the trainer began, if the account id is unknown; otherwise null. */
function unansweredSince({ memberId, addresses }: Attempt): string | null {
  if (memberId !== null) return null;
  return addresses.flatMap(({ givenAt }) => givenAt ?? []).sort()[0] ?? null;
}

/** Newcomers in no known membership. */
async function findStrangers(ctx: Context, claim: Attempt, since: string): Promise<Member[]> {
  const newcomers = await askTool(ctx, claim, (adapter, signal) =>
    Array.fromAsync(adapter.listNewcomers?.(claim.groupId, since, signal) ?? []),
  );
  const ids = newcomers.map(({ id }) => id);
  const known = await findKnownMembers(ctx.database.kysely, claim, ids);
  return newcomers.filter((newcomer) => !known.has(newcomer.id) && !isProtectedIn(ctx, claim.tool, newcomer));
}

const mostShown = 5;

/** Lists ids, because receipts must not contain names. */
function describeStrangers({ tool }: Attempt, strangers: readonly Member[]): string {
  const shown = strangers.slice(0, mostShown).map(({ id }) => id);
  const more = strangers.length > shown.length ? ` and ${strangers.length - shown.length} more` : '';
  return `The trainer may still be in as one of these accounts, because the tool never said which account it made for them: ${shown.join(', ')}${more}. Remove the trainer's account in ${tool}, and put the ids of the others into tools.${tool}.protected`;
}
