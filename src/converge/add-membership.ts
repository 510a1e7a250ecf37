import type { Added, Member, Person } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { createPassword, mayChange } from '../tools/accounts.ts';
import { findOthersAdded } from './access-store.ts';
import { isAccountKnownAsOurs } from './account-store.ts';
import type { Attempt } from './claim-store.ts';
import type { ConvergeResult } from './converge-result.ts';
import {
  askTool,
  beginCall,
  isProtectedIn,
  maxListAgeMs,
  readUntil,
  settledAs,
  toFailure,
  toNewInvitation,
  toolOf,
} from './converge-steps.ts';
import { refuseAccountOfAnother } from './doubted-account.ts';
import { isAccountMadeByUs, toMadeAt } from './ownership.ts';

/**
 * Adds a member whom the look did not find in the group. Before the call it looks for the account in the whole tool,
 * and stores with the intent whether there was one.
 *
 * @returns null if the claim no longer holds and nothing was done
 */
export async function addMembership(ctx: Context, claim: Attempt, person: Person): Promise<ConvergeResult | null> {
  const account = await lookAtAccount(ctx, claim, person);
  const isOursBefore = await isAccountKnownAsOurs(ctx, claim, account);
  const password = passwordFor(ctx, claim);
  const isAccountAbsent = account === undefined ? null : account === null;
  const intent = { operation: 'add', found: null, isAccountAbsent, password } as const;
  if ((await beginCall(ctx, claim, intent)) === null) return null;
  const { exclusive } = toolOf(ctx, claim.tool).adapter.capabilities;
  const othersAdded = exclusive === 'membership' ? undefined : await findOthersAdded(ctx.database.kysely, claim);
  const newcomer: Person = {
    ...person,
    isAccountOurs: isOursBefore && mayChange(ctx, claim.tool),
    maxListAgeMs: maxListAgeMs(ctx, claim),
    ...(othersAdded !== undefined && { othersAdded }),
    ...(password !== null && { newPassword: password }),
  };
  const added = await askTool(ctx, claim, (adapter, signal) => adapter.addMember(claim.groupId, newcomer, signal));
  await refuseProtected(ctx, claim, added);
  await refuseAccountOfAnother(ctx, claim, added);
  const isMade = added.account === 'made' || (added.account === undefined && isAccountAbsent);
  const learnt = {
    isOurs: true,
    isAccountOurs: isMade === true || isOursBefore || isAccountMadeByUs(claim, added),
    ...toMadeAt(added),
  };
  const invitation = {
    // The account may have been made by an earlier call, between the look and this one.
    ...(added.invitation === undefined && invitationOfLostTry(claim, added)),
    ...toInvitation(added, learnt.isAccountOurs ? password : null, password !== null),
  };
  if (added.isUnlisted === true) {
    const invited = { ...learnt, isAccountOurs: false, memberId: added.id, ...invitation };
    return { operation: 'add', outcome: 'invited', ...invited, ...settledAs(ctx.clock, 'invited') };
  }
  return await readBack(ctx, claim, { person, added, learnt: { ...learnt, ...invitation } });
}

/** @returns success only if the tool lists the member, whatever it answered to the call */
async function readBack(
  ctx: Context,
  claim: Attempt,
  { person, added, learnt }: { person: Person; added: Added; learnt: Partial<ConvergeResult> },
): Promise<ConvergeResult> {
  const { clock } = ctx;
  try {
    const seen = await readUntil(ctx, claim, { ...person, memberId: added.id });
    const shown = seen ?? added;
    const { id: memberId, isInvited } = shown;
    const [outcome, state] = isInvited ? (['invited', 'invited'] as const) : (['added', 'active'] as const);
    const settled = { ...learnt, ...toMadeAt(shown), memberId };
    return { ...settled, operation: 'add', outcome, ...settledAs(clock, state) };
  } catch (thrown) {
    if (claim.signal.aborted || !toolOf(ctx, claim.tool).adapter.capabilities.removesUnseen) throw thrown;
    // The tool accepted the member but does not list it. The member may be in, and can be removed by this id.
    const { isUnanswered: _, ...failed } = toFailure(claim, toAppError(thrown), clock);
    return { ...failed, memberId: added.id };
  }
}

/** Undefined if the tool cannot look for accounts. */
async function lookAtAccount(ctx: Context, claim: Attempt, person: Person): Promise<Member | null | undefined> {
  const { findAccount } = toolOf(ctx, claim.tool).adapter;
  if (findAccount === undefined) return undefined;
  const account = await askTool(ctx, claim, (adapter, signal) => findAccount.call(adapter, person, signal));
  if (account !== null && isProtectedIn(ctx, claim.tool, account)) throw protectedError();
  return account;
}

/** A tool that cannot show accounts may have added a protected one. It is removed again at once. */
async function refuseProtected(ctx: Context, claim: Attempt, added: Added): Promise<void> {
  if (!isProtectedIn(ctx, claim.tool, added)) return;
  await askTool(ctx, claim, (adapter, signal) => adapter.removeMember(claim.groupId, added, signal));
  throw protectedError();
}

function protectedError(): AppError {
  return new AppError('invalid', 'The account is protected, so it was not added');
}

/** All tries use the same password, because each of them may have made the login. */
function passwordFor(ctx: Context, { tool, password }: Attempt): string | null {
  if (toolOf(ctx, tool).adapter.capabilities.invitation !== 'password') return null;
  return password ?? createPassword();
}

/**
 * The invitation that the trainer needs to get in.
 *
 * @param password of an account that we made; null for any other account
 */
function toInvitation({ invitation }: Added, password: string | null, hasPassword: boolean): Partial<ConvergeResult> {
  const given = toNewInvitation(invitation, password);
  return { hasPassword, ...(given !== undefined && { invitation: given }) };
}

/** The invitation of an earlier try whose answer was lost, if that try made the login with its password. */
export function invitationOfLostTry(claim: Attempt, found: Member): Partial<ConvergeResult> {
  const { password, email } = claim;
  if (password === null || email === null || !isAccountMadeByUs(claim, found)) return {};
  const content = { kind: 'password', url: null, username: email, password } as const;
  return { invitation: { content, expiresAt: null } };
}
