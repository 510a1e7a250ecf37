import type { Member, Person } from '../adapters/adapter.ts';
import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type ConvergeStep, decideStep, type MembershipState } from '../domain/membership.ts';
import { toInstant } from '../lib/clock.ts';
import type { GivenAddress } from '../memberships/identity-store.ts';
import { dueEndedProjects, recordAssignmentsEnded } from '../memberships/membership-store.ts';
import { addMembership, invitationOfLostTry } from './add-membership.ts';
import { type Attempt, type Claim, putBackClaim } from './claim-store.ts';
import { type ConvergeResult, confirmResult, type SettledResult } from './converge-result.ts';
import {
  beginCall,
  endAssignments,
  isOwnMembership,
  isProtectedIn,
  isUnlisted,
  type LookResult,
  look,
  maxListAgeMs,
  renewWantedInvitation,
  settledAs,
  toFailure,
  toolOf,
  usualSecondLookMs,
  withReset,
} from './converge-steps.ts';
import {
  disownAccount,
  findHiddenAccount,
  presumePresent,
  proveAbsence,
  refuseAccountOfAnother,
  resolveDoubt,
} from './doubted-account.ts';
import { followAddress, needsCurrentAddress } from './follow-address.ts';
import { formerAddresses, isAccountMadeByUs, toMadeAt } from './ownership.ts';
import { removeFormerAddresses, removeMembership } from './remove-membership.ts';
import { settleMembership } from './settle-store.ts';

/**
 * Converges one membership, from claim to receipt: look, intent, call, read back (docs/rules.md, Converging). A 2xx
 * proves nothing. Only the look after it does.
 */
export async function convergeMembership(
  ctx: Context,
  given: Claim,
  signal: AbortSignal,
  secondLookMs = usualSecondLookMs,
): Promise<SettledResult | null> {
  const { clock } = ctx;
  const claim = { ...given, signal };
  const result = await attempt(ctx, claim, secondLookMs).catch((error: unknown) =>
    claim.signal.aborted ? null : toFailure(claim, toAppError(error), clock),
  );
  const now = toInstant(clock.now());
  if (result !== null) return { ...result, metAfterMs: await settleMembership(ctx, claim, result, now) };
  await putBackClaim(ctx, claim, now);
  return null;
}

/** @returns null if the claim no longer holds and nothing was done */
async function attempt(ctx: Context, given: Attempt, secondLookMs: number): Promise<ConvergeResult | null> {
  const lookedAt = toInstant(ctx.clock.now());
  const sought = await findPerson(ctx, given);
  const { claim, found } = sought;
  if (found !== null && claim.wanted) await refuseAccountOfAnother(ctx, claim, found);
  const result = await decideAndCall(ctx, sought);
  if (result === null) return null;
  const isOut = result.state === 'removed' || result.state === 'released';
  if (!isOut || claim.wanted) {
    return confirmResult(claim, result, { lookedAt, isCalled: false, secondLookMs });
  }
  const removed = await removeFormerAddresses(ctx, claim, result);
  if (removed.result.state === 'removing') return removed.result;
  const resolved = await resolveDoubt(ctx, claim, removed.result);
  if (resolved === null) return null;
  const isCalled = result.outcome === 'removed' && removed.isCalled && resolved.isSeen;
  return confirmResult(claim, resolved.result, { lookedAt, isCalled, secondLookMs });
}

async function decideAndCall(
  ctx: Context,
  { claim, person, found, isUnseen = false }: SoughtMember,
): Promise<ConvergeResult | null> {
  if (found === null && claim.wanted && isUnlisted(ctx, claim)) return await renewWantedInvitation(ctx, claim);
  const step = decideStep(claim.wanted, {
    isFound: found !== null,
    isInvited: found?.isInvited === true,
    isOurs: found !== null && isOwnMembership(ctx, claim, found),
    isProtected: found !== null && isProtectedIn(ctx, claim.tool, found),
  });
  if (step.act === 'call') {
    return found === null
      ? await addMembership(ctx, claim, person)
      : await removeMembership(ctx, claim, { person, found, isUnseen });
  }
  const settled = toSettled(ctx, claim, step, found);
  if (found === null) return await settleAbsent(ctx, claim, settled);
  const ended = await endAssignmentsInProjects(ctx, claim, { person, found, state: step.state });
  if (ended !== 'unchanged') return ended;
  const maintained = await maintainMember(ctx, claim, { person, found, state: step.state });
  return maintained === 'unchanged' ? settled : maintained;
}

interface SoughtMember {
  claim: Attempt;
  person: Person;
  found: Member | null;
  /** Whether the member was found outside the group's list, which does not show them. */
  isUnseen?: boolean;
}

/** Finds the member in the tool. If the tool has given the known id to another account, searches without the id. */
async function findPerson(ctx: Context, claim: Attempt): Promise<SoughtMember> {
  const person = toPerson(ctx, claim);
  const inList = { ...person, maxListAgeMs: maxListAgeMs(ctx, claim) };
  const looked = await lookForMember(ctx, claim, inList);
  const sought = { claim, person, found: keepIfOfMembership(ctx, claim, looked.found) };
  const known = await findByFormerAddress(ctx, await disownStray(ctx, sought, looked.stray));
  if (claim.wanted) return await disownUnseen(ctx, known);
  if (known.found !== null) return known;
  const { found, stray } = await findHiddenAccount(ctx, known.claim, known.person);
  const hidden = await disownStray(ctx, { ...known, found }, stray);
  if (hidden.found !== null) return { ...hidden, isUnseen: true };
  const presumed = await presumePresent(ctx, hidden.claim, hidden.person);
  return await disownStray(ctx, { ...hidden, found: presumed.found, isUnseen: true }, presumed.stray);
}

/** Looks twice for a member who is known to be in, because adding them again could make a second account. */
async function lookForMember(ctx: Context, claim: Attempt, person: Person): Promise<LookResult> {
  const looked = await look(ctx, claim, person);
  const isMissed = looked.found === null && looked.stray === null;
  const isKnownToBeIn = claim.wanted && claim.state === 'active' && claim.memberId !== null;
  return isMissed && isKnownToBeIn ? await look(ctx, claim, person) : looked;
}

/**
 * A tool that finds members only by address, or never gave us the id, may have the member under a former address.
 * Ignores an invitation to a former address, because the trainer cannot accept it.
 */
async function findByFormerAddress(ctx: Context, sought: SoughtMember): Promise<SoughtMember> {
  const { claim, person } = sought;
  if (sought.found !== null) return sought;
  for (const { address: email } of addressesToSearch(ctx, claim)) {
    const former = { ...claim, email };
    const { found } = await look(ctx, former, { ...person, email });
    if (found === null || (claim.wanted && found.isInvited === true)) continue;
    const isOurs = isOwnMembership(ctx, former, found);
    if (found.id !== claim.memberId && !isOurs) continue;
    // A wanted member may get the current address. A removal is read back under the former one.
    const of = claim.wanted ? person : { ...person, email };
    return { claim: { ...former, memberId: found.id }, person: of, found };
  }
  return sought;
}

/** All other addresses if the id is known, otherwise only those under which we gave access. */
function addressesToSearch({ config }: Context, claim: Attempt): GivenAddress[] {
  if (claim.memberId === null) return formerAddresses(claim, config.marketplace.managedDomains);
  return claim.addresses.filter(({ address }) => address !== claim.email);
}

async function disownStray(ctx: Context, sought: SoughtMember, stray: Member | null): Promise<SoughtMember> {
  if (stray === null) return sought;
  const disowned = await disownAccount(ctx, sought.claim, stray);
  return { ...sought, claim: disowned, person: { ...sought.person, memberId: null } };
}

/**
 * A list has put the member's account in doubt, and the look does not show it. The member gets another account, and may
 * still be in by this one.
 */
async function disownUnseen(ctx: Context, sought: SoughtMember): Promise<SoughtMember> {
  const { memberId, doubtedId } = sought.claim;
  if (memberId === null || memberId !== doubtedId || sought.found?.id === memberId) return sought;
  return await disownStray(ctx, sought, { id: memberId, email: null });
}

/** Settles a membership that is not wanted and was not found. */
async function settleAbsent(ctx: Context, claim: Attempt, settled: ConvergeResult): Promise<ConvergeResult | null> {
  const unproven = await proveAbsence(ctx, claim);
  if (unproven !== null) return unproven;
  if (claim.memberId === null) return settled;
  const isEnded = await endRemainingAssignments(ctx, claim, claim.memberId);
  return isEnded ? withReset(ctx, claim, settled) : null;
}

/**
 * Ends the assignments of a member whom others removed, or whom an interrupted try of ours removed. An account that
 * another membership uses too keeps its assignments.
 *
 * @returns false if the claim no longer holds
 */
async function endRemainingAssignments(ctx: Context, claim: Attempt, id: string): Promise<boolean> {
  if (toolOf(ctx, claim.tool).adapter.endAssignments === undefined || !claim.isOurs) return true;
  const member = { id, email: claim.email };
  const begun = await beginCall(ctx, claim, { operation: 'remove', found: member });
  if (begun === null) return false;
  if (begun.isShared) return true;
  return await endAssignments(ctx, claim, { member });
}

/**
 * An account with another id that is not ours does not belong to this membership, though it has the current address.
 */
function keepIfOfMembership(ctx: Context, claim: Attempt, found: Member | null): Member | null {
  if (found === null || claim.wanted || claim.memberId === null) return found;
  const hasKnownId = found.id === claim.memberId;
  return hasKnownId || isOwnMembership(ctx, claim, found) ? found : null;
}

interface PresentMember {
  person: Person;
  found: Member;
  state: MembershipState;
}

/**
 * Ends the assignments in ended projects of a member whom we added, and who stays in the group for another project.
 *
 * @returns `unchanged` unless that failed; null if the claim no longer holds
 */
async function endAssignmentsInProjects(
  ctx: Context,
  claim: Attempt,
  { found, state }: PresentMember,
): Promise<ConvergeResult | null | 'unchanged'> {
  const { database, clock } = ctx;
  const isToLeave = claim.wanted && toolOf(ctx, claim.tool).adapter.endAssignments !== undefined;
  if (!isToLeave || !isOwnMembership(ctx, claim, found)) return 'unchanged';
  try {
    for (const project of await dueEndedProjects(database.kysely, claim.id, toInstant(clock.now()))) {
      const isDone = await endAssignments(ctx, claim, { member: found, project });
      if (!isDone) return null;
      const now = toInstant(clock.now());
      await inTransaction(database, (tx) => recordAssignmentsEnded(tx, claim.id, project, now));
    }
    return 'unchanged';
  } catch (error) {
    if (claim.signal.aborted) throw error;
    // The member is still in the group.
    return { ...toFailure(claim, toAppError(error), clock), state };
  }
}

/** Renews the invitation of an invited member, or gives an active member a new address. */
async function maintainMember(
  ctx: Context,
  claim: Attempt,
  { person, found, state }: PresentMember,
): Promise<ConvergeResult | null | 'unchanged'> {
  if (state === 'invited' && claim.isRenewalWanted) {
    return await renewWantedInvitation(ctx, { ...claim, memberId: found.id });
  }
  if (state !== 'active' || !needsCurrentAddress(ctx, claim, person, found)) return 'unchanged';
  return await followAddress(ctx, claim, { person, found });
}

/** The result without a call: the member is as wanted, or must be left alone. */
function toSettled(
  ctx: Context,
  claim: Attempt,
  { state, outcome }: Extract<ConvergeStep, { act: 'settle' }>,
  found: Member | null,
): ConvergeResult {
  return {
    operation: claim.wanted ? 'add' : 'remove',
    outcome,
    ...(found !== null && {
      memberId: found.id,
      isOurs: outcome !== 'protected' && isOwnMembership(ctx, claim, found),
      isAccountOurs: outcome !== 'protected' && isAccountMadeByUs(claim, found),
      ...toMadeAt(found),
    }),
    // Others removed the member, or a removal of ours did whose answer was lost. A member who returns is not ours.
    ...(outcome === 'already_absent' && claim.memberId !== null && { isOurs: false }),
    ...(outcome === 'already_member' && found !== null && invitationOfLostTry(claim, found)),
    ...settledAs(ctx.clock, state),
  };
}

function toPerson(ctx: Context, { tool, wanted, trainerId, email, displayName, memberId }: Attempt): Person {
  if (email === null) throw new AppError('invalid', 'No work email is known for the trainer');
  // Gangway neither searches for a protected address nor invites it.
  if (wanted && isProtectedIn(ctx, tool, { id: '', email })) {
    throw new AppError('invalid', 'The address belongs to a protected account of the tool');
  }
  return { trainerId, email, displayName, memberId };
}
