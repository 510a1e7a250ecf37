import type { Added, Member, Person } from '../adapters/adapter.ts';
import { AppError, isTransient, toAppError } from '../domain/errors.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import {
  decideStep,
  type MembershipState,
  type Operation,
  type Step,
} from '../domain/membership.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import type { Begun } from './account-store.ts';
import { callTool } from './call-tool.ts';
import type { Claim } from './claim-store.ts';
import { attend, isUnlisted, toNewInvitation, withReset } from './converge-invitation.ts';
import { begin, type ConvergeDeps, look, readUntil } from './converge-steps.ts';
import { followAddress, isToFollow } from './follow-address.ts';
import { createPassword } from './new-password.ts';
import { isProtected } from './protected-account.ts';
import { restIn } from './rest-in.ts';
import type { Result } from './settle-store.ts';

const refusedRetryMs = 3_600_000;

/**
 * One membership, from claim to receipt: look, intent, call, read back (design section 2). The
 * tool decides what is true: a 2xx proves nothing, finding the person (or not) does.
 */
export async function convergeMembership(
  deps: ConvergeDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<Result | null> {
  const { claims, settling, clock } = deps;
  const result = await attempt(deps, claim, signal).catch((error: unknown) =>
    signal.aborted ? null : toFailure(claim, toAppError(error), clock),
  );
  if (result === null) await claims.putBack(claim, toInstant(clock.now()));
  else await settling.settle(claim, result, toInstant(clock.now()));
  return result;
}

/** @returns null where the claim no longer holds and nothing was done */
async function attempt(
  deps: ConvergeDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<Result | null> {
  const person = toPerson(claim);
  refuseProtected(deps, claim, person);
  const found = await look(deps, claim, person, signal);
  if (found === null && claim.wanted && isUnlisted(deps.adapter, claim))
    return await attend(deps, claim, signal);
  const isOurs = claim.isOurs || isManaged(deps, claim);
  const step = decideStep(claim.wanted, {
    ...{ isOurs, isFound: found !== null, isInvited: found?.isInvited === true },
    isProtected: found !== null && isProtected(deps.protectedAccounts, found),
  });
  if (step.act === 'call') return await change(deps, claim, person, found, signal);
  const settled = toSettled(deps, claim, step, found);
  if (found === null) {
    return claim.memberId === null ? settled : withReset(deps, settled);
  }
  const tended = await tend(deps, claim, { person, found, state: step.state }, signal);
  return tended === 'left' ? settled : tended;
}

interface Present {
  person: Person;
  found: Member;
  state: MembershipState;
}

/** Who is where they should be may need another invitation, or go by another address by now. */
async function tend(
  deps: ConvergeDeps,
  claim: Claim,
  { person, found, state }: Present,
  signal: AbortSignal,
): Promise<Result | null | 'left'> {
  if (state === 'invited' && claim.isRenewalWanted) {
    return await attend(deps, { ...claim, memberId: found.id }, signal);
  }
  if (state !== 'active' || !isToFollow(deps, claim, person, found)) return 'left';
  return await followAddress(deps, claim, { person, found }, signal);
}

/** Nothing has to be done: what was found is what is wanted, or is to be left. */
function toSettled(
  deps: ConvergeDeps,
  claim: Claim,
  { state, outcome }: Extract<Step, { act: 'settle' }>,
  found: Member | null,
): Result {
  const isOurs = claim.isOurs || isManaged(deps, claim);
  return {
    ...{ operation: claim.wanted ? 'add' : 'remove', outcome },
    ...(found !== null && { memberId: found.id, isOurs: isOurs && outcome !== 'protected' }),
    // Gone, by our removal (its answer was lost) or another's: whoever comes back is not ours.
    ...(outcome === 'already_absent' && claim.memberId !== null && { isOurs: false }),
    ...invitedByCrash(claim, outcome),
    ...restIn(deps.clock, state),
  };
}

/** A try to add them was made, and what came of it is not known: whatever they got in with is. */
function invitedByCrash(
  { password, isOurs, email }: Claim,
  outcome: Result['outcome'],
): Partial<Result> {
  const mayHaveLogin = outcome === 'already_member' && isOurs;
  if (!mayHaveLogin || password === null || email === null) return {};
  const content = { kind: 'password', url: null, username: email.toLowerCase(), password } as const;
  return { invitation: { content, expiresAt: null } };
}

async function change(
  deps: ConvergeDeps,
  claim: Claim,
  person: Person,
  found: Member | null,
  signal: AbortSignal,
): Promise<Result | null> {
  const operation: Operation = found === null ? 'add' : 'remove';
  const password = found === null ? passwordFor(deps, claim) : null;
  const begun = await begin(deps, claim, { operation, foundId: found?.id ?? null, password });
  if (begun === null) return null;
  if (found === null) return await add(deps, claim, { person, password }, signal);
  if (begun.isShared) {
    const learnt = { memberId: found.id, isOurs: false };
    return { operation, outcome: 'kept_for_another', ...learnt, ...restIn(deps.clock, 'removed') };
  }
  return await remove(deps, claim, { person, found, begun }, signal);
}

async function add(
  deps: ConvergeDeps,
  claim: Claim,
  { person, password }: Addition,
  signal: AbortSignal,
): Promise<Result> {
  const newcomer = password === null ? person : { ...person, newPassword: password };
  const added = await callTool(deps.timeoutMs, signal, (callSignal) =>
    deps.adapter.addMember(claim.groupId, newcomer, callSignal),
  );
  const told = toTold(added, password);
  if (added.isUnlisted === true) {
    const learnt = { memberId: added.id, isOurs: true, ...told };
    return { operation: 'add', outcome: 'invited', ...learnt, ...restIn(deps.clock, 'invited') };
  }
  const readBack = await readUntil(deps, claim, { ...person, memberId: added.id }, signal);
  const { id: memberId, isInvited } = readBack ?? added;
  const [outcome, state] = isInvited
    ? (['invited', 'invited'] as const)
    : (['added', 'active'] as const);
  return {
    operation: 'add',
    outcome,
    memberId,
    isOurs: true,
    ...told,
    ...restIn(deps.clock, state),
  };
}

/** The same at every try, as any of them may have made the login. */
function passwordFor({ adapter }: ConvergeDeps, { password }: Claim): string | null {
  if (adapter.capabilities.invitation !== 'password') return null;
  return password ?? createPassword();
}

/** What is to be told to whoever was added, so that they get in. */
function toTold({ invitation }: Added, password: string | null): Partial<Result> {
  const hasPassword = password !== null;
  const given = toNewInvitation(invitation, password);
  return { hasPassword, ...(given !== undefined && { invitation: given }) };
}

interface Addition {
  person: Person;
  /** For the login that adding them may make; null where it makes none. */
  password: string | null;
}

interface Removal {
  person: Person;
  found: Member;
  begun: Begun;
}

async function remove(
  deps: ConvergeDeps,
  claim: Claim,
  { person, found, begun }: Removal,
  signal: AbortSignal,
): Promise<Result> {
  const { adapter } = deps;
  await callTool(deps.timeoutMs, signal, async (callSignal) => {
    const endsLogin = begun.isLastOfAccount && adapter.removeAccount !== undefined;
    if (endsLogin) await adapter.removeAccount?.(claim.groupId, found, callSignal);
    else await adapter.removeMember(claim.groupId, found, callSignal);
  });
  await readUntil(deps, claim, { ...person, memberId: found.id }, signal);
  const { removal } = adapter.capabilities;
  const removed: Result = {
    ...{ operation: 'remove', outcome: 'removed', memberId: found.id },
    // Whoever is found again after a removal was not added by us.
    isOurs: false,
    ...(removal.effect === 'membership_only' && {
      message: `They may still get in: ${removal.reason}`,
    }),
    ...restIn(deps.clock, 'removed'),
  };
  return withReset(deps, removed);
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

function isManaged({ managedDomains }: ConvergeDeps, { email }: Claim): boolean {
  return email !== null && managedDomains.includes(domainOf(email));
}

/** What may pass is tried again soon, then ever later; a refusal once an hour. */
function toFailure(claim: Claim, error: AppError, clock: Clock): Result {
  const { attempts, state, wanted } = claim;
  const transient = isTransient(error);
  const waitMs = transient ? backoffMs(attempts + 1, error.retryAfterMs) : refusedRetryMs;
  return {
    operation: wanted ? 'add' : 'remove',
    outcome: transient ? 'failed' : 'refused',
    state: transient ? state : 'failed',
    nextAttemptAt: instantIn(clock, waitMs),
    errorCode: error.code,
    retryAfterMs: error.retryAfterMs,
    toolStatus: error.status,
    // Adapters are others' code, and what they throw may quote an address.
    message: maskText(error.message).slice(0, 300),
  };
}
