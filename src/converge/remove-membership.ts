import type { Member, Person } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { toAppError } from '../domain/errors.ts';
import { sayUnproven } from '../domain/tool-trouble.ts';
import { instantIn } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { backoffMs } from '../lib/retry.ts';
import type { GivenAddress } from '../memberships/identity-store.ts';
import { mayChange } from '../tools/accounts.ts';
import type { AccountUse } from './account-store.ts';
import type { Attempt } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import {
  askTool,
  beginCall,
  endAssignments,
  isOwnMembership,
  isProtectedIn,
  look,
  readUntil,
  readUntilEnded,
  settledAs,
  toolOf,
  toUnproven,
  withReset,
} from './converge-steps.ts';
import { formerAddresses, isAccountMadeByUs } from './ownership.ts';
import { wasSeenSinceAdded } from './receipt-store.ts';

interface Removal {
  person: Person;
  found: Member;
  /** Whether the member was found outside the group's list, which does not show them. */
  isUnseen?: boolean;
}

/**
 * Removes a member whom we added from the group. Ends the account in the whole tool only if we made the account and
 * nothing else uses it.
 *
 * @returns null if the claim no longer holds and nothing was done
 */
export async function removeMembership(
  ctx: Context,
  claim: Attempt,
  { person, found, isUnseen = false }: Removal,
): Promise<ConvergeResult | null> {
  const begun = await beginCall(ctx, claim, { operation: 'remove', found });
  if (begun === null) return null;
  if (begun.isShared) {
    const learnt = { memberId: found.id, isOurs: false };
    const outcome = 'kept_for_another';
    return { operation: 'remove', outcome, ...learnt, ...settledAs(ctx.clock, 'removed') };
  }
  const isOurs = begun.isAccountOurs || isAccountMadeByUs(claim, found);
  const { removeAccount } = toolOf(ctx, claim.tool).adapter;
  const endsAccount = removeAccount !== undefined && begun.isLastOfAccount && isOurs && mayChange(ctx, claim.tool);
  const answer = await askTool(ctx, claim, async (adapter, signal) => {
    if (!endsAccount) {
      return await adapter.removeMember(claim.groupId, found, signal);
    }
    // The other groups first, because an ended account can no longer be found in them.
    for (const groupId of begun.groupsToLeave) {
      await adapter.removeMember(groupId, found, signal);
    }
    await removeAccount.call(adapter, claim.groupId, found, signal);
  });
  await readUntil(ctx, claim, { ...person, memberId: found.id });
  if (endsAccount) await readUntilEnded(ctx, claim, found);
  if (!(await endAssignments(ctx, claim, { member: found }))) return null;
  if (answer === 'unproven' && isUnseen) {
    // The tool shows no members, so their absence proves nothing.
    const { tool } = claim;
    return toUnproven(ctx.clock, { outcome: 'unproven', message: sayUnproven(tool), mayBeIn: [found.id] });
  }
  const notes = [
    isUnseen && !endsAccount ? await describeProof(ctx, claim) : null,
    describeRemainingAccess(ctx, claim.tool, begun, endsAccount, isOurs),
  ].filter((part) => part !== null);
  const removed: ConvergeResult = {
    operation: 'remove',
    outcome: 'removed',
    memberId: found.id,
    // A member who is found again was added by others.
    isOurs: false,
    ...(notes.length > 0 && { message: notes.join('. ') }),
    ...settledAs(ctx.clock, 'removed'),
  };
  return withReset(ctx, claim, removed);
}

/** Null if the tool showed the member before: only then does not showing them prove the removal. */
async function describeProof(ctx: Context, claim: Attempt): Promise<string | null> {
  if (await wasSeenSinceAdded(ctx.database.kysely, claim.id)) return null;
  return 'Unproven: the tool accepted the removal, but it never showed the member in the group';
}

/** How a removed member could still get in; null if they cannot. */
function describeRemainingAccess(
  ctx: Context,
  tool: string,
  { isLastOfAccount }: AccountUse,
  endsAccount: boolean,
  isOurs: boolean,
): string | null {
  const { capabilities, removeAccount } = toolOf(ctx, tool).adapter;
  const endsAll = endsAccount || removeAccount === undefined;
  const removal = (endsAll ? undefined : capabilities.keepingAccount?.removal) ?? capabilities.removal;
  // If something else uses the account, it must stay.
  if (removal.effect === 'locks_out' || !isLastOfAccount) return null;
  const why = mayChange(ctx, tool) ? '' : ' (customers share the tool, so Gangway ends no account in it)';
  const ownership = endsAll || isOurs ? '' : ' (Gangway does not know that it made their account)';
  return `They may still get in: ${removal.reason}${why || ownership}`;
}

/**
 * Removes accounts that were added under former addresses. Runs after the current address, so that a failure here holds
 * up nothing else.
 *
 * @returns `isCalled`: whether every access under a former address was found and removed
 */
export async function removeFormerAddresses(
  ctx: Context,
  claim: Attempt,
  result: ConvergeResult,
): Promise<{ result: ConvergeResult; isCalled: boolean }> {
  let settled = result;
  let isCalled = true;
  for (const given of formerAddresses(claim, ctx.config.marketplace.managedDomains)) {
    try {
      const removed = await removeUnder(ctx, claim, given);
      isCalled &&= removed?.outcome === 'removed' || given.givenAt === null;
      if (removed?.wantsReset) settled = { ...settled, wantsReset: true };
    } catch (thrown) {
      if (claim.signal.aborted) throw thrown;
      const { message, retryAfterMs } = toAppError(thrown);
      const waitMs = backoffMs(claim.attempts + 1, retryAfterMs);
      const failed: ConvergeResult = {
        ...settled,
        state: 'removing',
        nextAttemptAt: instantIn(ctx.clock, waitMs),
        isUnanswered: true,
        message: maskText(`A former address of the trainer is not removed yet: ${message}`).slice(0, 300),
      };
      return { result: failed, isCalled: false };
    }
  }
  return { result: settled, isCalled };
}

async function removeUnder(
  ctx: Context,
  claim: Attempt,
  { address: email }: GivenAddress,
): Promise<ConvergeResult | null> {
  const { trainerId, displayName } = claim;
  const person = { trainerId, displayName, email, memberId: null };
  const former = { ...claim, email, memberId: null, isOurs: false };
  const { found } = await look(ctx, former, person);
  if (found === null || isProtectedIn(ctx, claim.tool, found)) return null;
  if (!isOwnMembership(ctx, former, found)) return null;
  return await removeMembership(ctx, former, { person, found });
}
