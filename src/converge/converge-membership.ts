import type { Member, Person } from '../adapters/adapter.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type ConvergeStep, decideStep, type MembershipState } from '../domain/membership.ts';
import { toInstant } from '../lib/clock.ts';
import type { GivenAddress } from '../memberships/address-store.ts';
import { isProtected } from '../tools/account-rules.ts';
import { addMembership } from './add-membership.ts';
import type { Claim } from './claim-store.ts';
import { confirmResult } from './confirm-result.ts';
import {
  beginCall,
  type ConvergeDeps,
  endAssignments,
  isUnlisted,
  look,
  maxListAgeMs,
  settledAs,
  toFailure,
} from './converge-steps.ts';
import { disownAccount, findHiddenAccount, refuseAccountOfAnother, resolveDoubt } from './doubted-account.ts';
import { followAddress, isToFollow } from './follow-address.ts';
import { formerAddresses, isAccountMadeByUs, isMembershipOurs, toMadeAt } from './ownership.ts';
import { proveAbsence } from './prove-absence.ts';
import { removeFormerAddresses, removeMembership } from './remove-membership.ts';
import { renewWantedInvitation, withReset } from './renew-invitation.ts';
import type { ConvergeResult } from './settle-store.ts';

/**
 * One membership, from claim to receipt: look, intent, call, read back (design section 2). The
 * tool decides what is true: a 2xx proves nothing, finding the person (or not) does.
 */
export async function convergeMembership(
  deps: ConvergeDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<ConvergeResult | null> {
  const { claims, settling, clock } = deps;
  const result = await attempt(deps, claim, signal).catch((error: unknown) =>
    signal.aborted ? null : toFailure(claim, toAppError(error), clock),
  );
  if (result === null) await claims.putBack(claim, toInstant(clock.now()));
  else await settling.settle(claim, result, toInstant(clock.now()));
  return result;
}

/** @returns null where the claim no longer holds and nothing was done */
async function attempt(deps: ConvergeDeps, given: Claim, signal: AbortSignal): Promise<ConvergeResult | null> {
  const lookedAt = toInstant(deps.clock.now());
  const sought = await findPerson(deps, given, signal);
  const { claim, found } = sought;
  if (found !== null && claim.wanted) await refuseAccountOfAnother(deps, claim, found);
  const result = await decideAndCall(deps, sought, signal);
  if (result === null) return null;
  const { secondLookMs } = deps;
  const isOut = result.state === 'removed' || result.state === 'released';
  if (!isOut || claim.wanted) {
    return confirmResult(claim, result, { lookedAt, isCalled: false, secondLookMs });
  }
  const removed = await removeFormerAddresses(deps, claim, result, signal);
  if (removed.result.state === 'removing') return removed.result;
  const settled = await resolveDoubt(deps, claim, removed.result, signal);
  const isCalled = result.outcome === 'removed' && removed.isCalled;
  return settled && confirmResult(claim, settled, { lookedAt, isCalled, secondLookMs });
}

async function decideAndCall(
  deps: ConvergeDeps,
  { claim, person, found }: SoughtMember,
  signal: AbortSignal,
): Promise<ConvergeResult | null> {
  if (found === null && claim.wanted && isUnlisted(deps.adapter, claim))
    return await renewWantedInvitation(deps, claim, signal);
  const step = decideStep(claim.wanted, {
    isFound: found !== null,
    isInvited: found?.isInvited === true,
    isOurs: found !== null && isMembershipOurs(claim, found, deps.managedDomains),
    isProtected: found !== null && isProtected(deps.protectedAccounts, found),
  });
  if (step.act === 'call') {
    return found === null
      ? await addMembership(deps, claim, person, signal)
      : await removeMembership(deps, claim, { person, found }, signal);
  }
  const settled = toSettled(deps, claim, step, found);
  if (found === null) return await settleAbsent(deps, claim, settled, signal);
  const left = await endAssignmentsInProjects(deps, claim, { person, found, state: step.state }, signal);
  if (left !== 'left') return left;
  const tended = await maintainMember(deps, claim, { person, found, state: step.state }, signal);
  return tended === 'left' ? settled : tended;
}

interface SoughtMember {
  claim: Claim;
  person: Person;
  found: Member | null;
}

/** Whoever they are in the tool by now: where their id is not theirs any more, without it. */
async function findPerson(deps: ConvergeDeps, claim: Claim, signal: AbortSignal): Promise<SoughtMember> {
  const person = toPerson(claim);
  refuseProtected(deps, claim, person);
  const inList = { ...person, maxListAgeMs: maxListAgeMs(deps, claim) };
  const looked = await look(deps, claim, inList, signal);
  const sought = { claim, person, found: keepIfOfMembership(deps, claim, looked.found) };
  const known = await findByFormerAddress(deps, await disownStray(deps, sought, looked.stray), signal);
  if (known.found !== null || claim.wanted) return known;
  const { found, stray } = await findHiddenAccount(deps, known.claim, known.person, signal);
  const hidden = await disownStray(deps, { ...known, found }, stray);
  return hidden.found === null ? { ...hidden, found: presumePresent(deps, hidden.claim) } : hidden;
}

/**
 * Nobody has their address of now: they may be in under one that they had before, where the tool finds
 * them by that alone, or has never told their id. Who is only invited under it cannot come in by it.
 */
async function findByFormerAddress(
  deps: ConvergeDeps,
  sought: SoughtMember,
  signal: AbortSignal,
): Promise<SoughtMember> {
  const { claim, person } = sought;
  if (sought.found !== null) return sought;
  for (const { address: email } of addressesToSearch(deps, claim)) {
    const former = { ...claim, email };
    const { found } = await look(deps, former, { ...person, email }, signal);
    if (found === null || (claim.wanted && found.isInvited === true)) continue;
    const isOurs = isMembershipOurs(former, found, deps.managedDomains);
    if (found.id !== claim.memberId && !isOurs) continue;
    // Who stays may be given the address of now; who is to go is read back under that one.
    const of = claim.wanted ? person : { ...person, email };
    return { claim: { ...former, memberId: found.id }, person: of, found };
  }
  return sought;
}

/** Whose id is known may be known by any of them, also where we did not let them in. */
function addressesToSearch({ managedDomains }: ConvergeDeps, claim: Claim): GivenAddress[] {
  if (claim.memberId === null) return formerAddresses(claim, managedDomains);
  return claim.addresses.filter(({ address }) => address !== claim.email);
}

async function disownStray(
  deps: ConvergeDeps,
  { claim, person, found }: SoughtMember,
  stray: Member | null,
): Promise<SoughtMember> {
  if (stray === null) return { claim, person, found };
  const disowned = await disownAccount(deps, claim, stray);
  return { claim: disowned, person: { ...person, memberId: null }, found };
}

/** Nobody is found who is to be out. */
async function settleAbsent(
  deps: ConvergeDeps,
  claim: Claim,
  settled: ConvergeResult,
  signal: AbortSignal,
): Promise<ConvergeResult | null> {
  const unproven = await proveAbsence(deps, claim, signal);
  if (unproven !== null) return unproven;
  if (claim.memberId === null) return settled;
  const isEnded = await endRemainingAssignments(deps, claim, claim.memberId, signal);
  return isEnded ? withReset(deps, claim, settled) : null;
}

/**
 * What is assigned to whom another hand took out, or we in a try that was cut short. Their account may
 * be another's reason to be there as well, who is only missing just now.
 *
 * @returns false where the claim no longer holds
 */
async function endRemainingAssignments(
  deps: ConvergeDeps,
  claim: Claim,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  if (deps.adapter.endAssignments === undefined || !claim.isOurs) return true;
  const member = { id, email: claim.email };
  const begun = await beginCall(deps, claim, { operation: 'remove', found: member });
  if (begun === null) return false;
  if (begun.isShared) return true;
  return await endAssignments(deps, claim, { member }, signal);
}

/** Who only has the address that is named by now is nobody whom this membership let in. */
function keepIfOfMembership(deps: ConvergeDeps, claim: Claim, found: Member | null): Member | null {
  if (found === null || claim.wanted || claim.memberId === null) return found;
  const isTheirs = found.id === claim.memberId;
  return isTheirs || isMembershipOurs(claim, found, deps.managedDomains) ? found : null;
}

/** Whoever was added and is not seen any more counts as in, where the tool is to say that they are out. */
function presumePresent({ adapter }: ConvergeDeps, { wanted, isOurs, memberId, email }: Claim): Member | null {
  const isPresumed = adapter.capabilities.removesUnseen === true && !wanted && isOurs;
  return isPresumed && memberId !== null ? { id: memberId, email } : null;
}

interface PresentMember {
  person: Person;
  found: Member;
  state: MembershipState;
}

/**
 * Who stays in a group for one project and has left another: what is assigned to them there is taken
 * away, where we let them in.
 *
 * @returns `left` where nothing more is to be done about that
 */
async function endAssignmentsInProjects(
  deps: ConvergeDeps,
  claim: Claim,
  { found, state }: PresentMember,
  signal: AbortSignal,
): Promise<ConvergeResult | null | 'left'> {
  const { adapter, settling, clock } = deps;
  const isToLeave = claim.wanted && adapter.endAssignments !== undefined;
  if (!isToLeave || !isMembershipOurs(claim, found, deps.managedDomains)) return 'left';
  try {
    for (const project of await settling.endedProjects(claim, toInstant(clock.now()))) {
      const isDone = await endAssignments(deps, claim, { member: found, project }, signal);
      if (!isDone) return null;
      await settling.recordAssignmentsEnded(claim, project, toInstant(clock.now()));
    }
    return 'left';
  } catch (error) {
    if (signal.aborted) throw error;
    // They are in all the same.
    return { ...toFailure(claim, toAppError(error), clock), state };
  }
}

/** Who is where they should be may need another invitation, or go by another address by now. */
async function maintainMember(
  deps: ConvergeDeps,
  claim: Claim,
  { person, found, state }: PresentMember,
  signal: AbortSignal,
): Promise<ConvergeResult | null | 'left'> {
  if (state === 'invited' && claim.isRenewalWanted) {
    return await renewWantedInvitation(deps, { ...claim, memberId: found.id }, signal);
  }
  if (state !== 'active' || !isToFollow(deps, claim, person, found)) return 'left';
  return await followAddress(deps, claim, { person, found }, signal);
}

/** Nothing has to be done: what was found is what is wanted, or is to be left. */
function toSettled(
  deps: ConvergeDeps,
  claim: Claim,
  { state, outcome }: Extract<ConvergeStep, { act: 'settle' }>,
  found: Member | null,
): ConvergeResult {
  return {
    operation: claim.wanted ? 'add' : 'remove',
    outcome,
    ...(found !== null && {
      memberId: found.id,
      isOurs: outcome !== 'protected' && isMembershipOurs(claim, found, deps.managedDomains),
      isAccountOurs: outcome !== 'protected' && isAccountMadeByUs(claim, found),
      ...toMadeAt(found),
    }),
    // Gone, by our removal (its answer was lost) or another's: whoever comes back is not ours.
    ...(outcome === 'already_absent' && claim.memberId !== null && { isOurs: false }),
    ...(outcome === 'already_member' && found !== null && invitationOfLostTry(claim, found)),
    ...settledAs(deps.clock, state),
  };
}

/** A try to add them was made, and what came of it is not known: whatever they got in with is. */
function invitationOfLostTry(claim: Claim, found: Member): Partial<ConvergeResult> {
  const { password, email } = claim;
  if (password === null || email === null || !isAccountMadeByUs(claim, found)) return {};
  const content = { kind: 'password', url: null, username: email, password } as const;
  return { invitation: { content, expiresAt: null } };
}

function toPerson({ trainerId, email, displayName, memberId }: Claim): Person {
  if (email === null) throw new AppError('invalid', 'No work email is known for the trainer');
  return { trainerId, email, displayName, memberId };
}

/** Before the tool is even asked: an address out of bounds is neither searched for nor invited. */
function refuseProtected(deps: ConvergeDeps, { wanted }: Claim, { email }: Person): void {
  if (!wanted || !isProtected(deps.protectedAccounts, { id: '', email })) return;
  throw new AppError('invalid', 'The address is that of a protected account of the tool');
}
