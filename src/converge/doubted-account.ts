import type { Member, Person } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { instantIn } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { mayChange } from '../tools/accounts.ts';
import { forgetMemberId, isBoundToAnother } from './access-store.ts';
import { isAccountKnownAsOurs } from './account-store.ts';
import type { Attempt } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import { askTool, findInGroup, type LookResult, toolOf } from './converge-steps.ts';
import { isMembershipOurs, judgeAccountId } from './ownership.ts';
import { wasSeenSinceAdded } from './receipt-store.ts';
import { removeMembership } from './remove-membership.ts';

/**
 * Accounts that are known by their id alone (docs/rules.md, Identity): ids that may belong to another person now,
 * and accounts of ours that no look shows any more.
 */

const heldRetryMs = 3_600_000;

/** Forgets the id. The account with that id is neither removed nor taken for the trainer's. */
export async function disownAccount(ctx: Context, claim: Attempt, stray: Member): Promise<Attempt> {
  // A member that we did not add need not be removed.
  const isInDoubt = claim.isOurs && judgeAccountId(claim, stray) !== 'other_account';
  const disowned = isInDoubt ? { ...claim, doubtedId: stray.id } : claim;
  const forget = () => inTransaction(ctx.database, (tx) => forgetMemberId(tx, claim, stray.id, isInDoubt));
  if (!(await forget())) return disowned;
  const { tool, groupId: group, trainerId: trainer, id: membership } = claim;
  // In some tools ids are addresses.
  const account = maskText(stray.id).slice(0, 60);
  ctx.alerts.raise(
    'id_of_another',
    { tool, group, trainer, membership, account },
    isInDoubt
      ? `Account ${account} now shows an email that no install has reported for the trainer. Its work is not reported. Find out in ${tool} whose account it is, then run: ${adviseOnDoubt(membership)}`
      : `The tool gave the id to account ${account}, as after a restored backup. Gangway looks for the trainer by email`,
  );
  return disowned;
}

/**
 * Refuses an account without an address if its id is known as another trainer's, because nothing could tell the two
 * apart.
 */
export async function refuseAccountOfAnother(ctx: Context, claim: Attempt, { id, email }: Member): Promise<void> {
  if (email !== null || id === claim.memberId) return;
  if (!(await isBoundToAnother(ctx.database.kysely, claim, id))) return;
  const { tool, groupId: group, trainerId: trainer, id: membership } = claim;
  const account = maskText(id).slice(0, 60);
  const message = `Account ${account} is known as another trainer's, and ${tool} shows no email to tell whose it is. Find out in ${tool}, and end the wrong membership`;
  // Raise the alert once, and not at every try.
  if (claim.attempts === 0) {
    ctx.alerts.raise('id_of_another', { tool, group, trainer, membership, account }, message);
  }
  throw new AppError('conflict', message);
}

/** How an operator resolves the doubt. `explain` shows it too. */
export function adviseOnDoubt(membership: number): string {
  return `gangway members adopt ${membership} --address <the address it shows> if it is the trainer's, or gangway members release ${membership} --doubted if it is another person's`;
}

const noAccount: LookResult = { found: null, stray: null };

/**
 * Finds an account that we made and that no look at the group shows. A hidden member, or one that others removed, could
 * still get in by it. Only needed if a removal also ends the account.
 */
export async function findHiddenAccount(ctx: Context, claim: Attempt, person: Person): Promise<LookResult> {
  if (toolOf(ctx, claim.tool).adapter.removeAccount === undefined || !mayChange(ctx, claim.tool)) return noAccount;
  const isOurs = (account: Member) => isAccountKnownAsOurs(ctx, claim, account);
  return await findAccountOf(ctx, claim, person, isOurs);
}

/**
 * If the tool may not list a member that we added, the member counts as present until the tool confirms the removal.
 * Where nothing tells whose an id is, it may belong to another person since a look has found the member.
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

/** Finds the trainer's account in the whole tool, in a group or in none. */
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
  /** Whether the tool showed the account; true if there is none in doubt. */
  isSeen: boolean;
}

/**
 * A member who may still be in by a doubted account does not count as removed until an operator decides, or until two
 * looks have found no such account.
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
  const held = { ...result, state: 'failed', nextAttemptAt: instantIn(ctx.clock, heldRetryMs), message } as const;
  return { result: held, isSeen: true };
}

async function lookById(ctx: Context, claim: Attempt, id: string): Promise<Member | null> {
  return await askTool(ctx, claim, async (adapter, signal) => (await adapter.findAccountById?.(id, signal)) ?? null);
}
