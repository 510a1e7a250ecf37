import type { Adapter, Member, Person } from '../adapters/adapter.ts';
import { AppError, isTransient, toAppError } from '../domain/errors.ts';
import { domainOf } from '../domain/marketplace-text.ts';
import { decideStep, type MembershipState, type Operation } from '../domain/membership.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { retry } from '../lib/retry.ts';
import { callTool } from './call-tool.ts';
import type { Claim, ClaimStore } from './claim-store.ts';
import { isProtected } from './protected-account.ts';
import type { Begun, Result, SettleStore } from './settle-store.ts';

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
  clock: Clock;
}

/** A dead worker's work is taken over after this long. */
export const leaseMs = 30_000;
const refusedRetryMs = 3_600_000;
/** Nobody tells when an invitation is accepted. */
const invitedRetryMs = 3_600_000;

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
  const isOurs = claim.isOurs || isManaged(deps, person);
  const step = decideStep(claim.wanted, {
    ...{ isOurs, isFound: found !== null, isInvited: found?.isInvited === true },
    isProtected: found !== null && isProtected(deps.protectedAccounts, found),
  });
  if (step.act === 'call') return await change(deps, claim, person, found, signal);
  return {
    operation: claim.wanted ? 'add' : 'remove',
    outcome: step.outcome,
    ...(found !== null && { memberId: found.id, isOurs: isOurs && step.outcome !== 'protected' }),
    // Gone, by our removal (its answer was lost) or another's: whoever comes back is not ours.
    ...(step.outcome === 'already_absent' && claim.memberId !== null && { isOurs: false }),
    ...restIn(deps, step.state),
  };
}

/** A settled state, and when it is worth another look. */
function restIn({ clock }: ConvergeDeps, state: MembershipState) {
  return { state, nextAttemptAt: state === 'invited' ? instantIn(clock, invitedRetryMs) : null };
}

async function change(
  deps: ConvergeDeps,
  claim: Claim,
  person: Person,
  found: Member | null,
  signal: AbortSignal,
): Promise<Result | null> {
  const { settling, clock } = deps;
  const operation: Operation = found === null ? 'add' : 'remove';
  const intent = { operation, foundId: found?.id ?? null };
  const now = toInstant(clock.now());
  const begunAt = performance.now();
  const begun = await settling.begin(claim, intent, now, instantIn(clock, leaseMs));
  // A process that was frozen meanwhile wakes up with a lease that is somebody else's by now.
  if (begun === null || performance.now() - begunAt > leaseMs / 2) return null;
  if (found === null) return await add(deps, claim, person, signal);
  if (begun.isShared) {
    const learnt = { memberId: found.id, isOurs: false };
    return { operation, outcome: 'kept_for_another', ...learnt, ...restIn(deps, 'removed') };
  }
  return await remove(deps, claim, { person, found, begun }, signal);
}

async function add(
  deps: ConvergeDeps,
  claim: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<Result> {
  const added = await callTool(deps.timeoutMs, signal, (callSignal) =>
    deps.adapter.addMember(claim.groupId, person, callSignal),
  );
  const readBack = await readUntil(deps, claim, { ...person, memberId: added.id }, signal);
  const { id: memberId, isInvited } = readBack ?? added;
  const [outcome, state] = isInvited
    ? (['invited', 'invited'] as const)
    : (['added', 'active'] as const);
  return { operation: 'add', outcome, memberId, isOurs: true, ...restIn(deps, state) };
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
  return {
    ...{ operation: 'remove', outcome: 'removed', memberId: found.id },
    // Whoever is found again after a removal was not added by us.
    isOurs: false,
    ...(removal.effect === 'membership_only' && {
      message: `They may still get in: ${removal.reason}`,
    }),
    ...restIn(deps, 'removed'),
  };
}

async function look(
  { adapter, timeoutMs }: ConvergeDeps,
  { groupId }: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  return await callTool(timeoutMs, signal, (callSignal) =>
    adapter.findMember(groupId, person, callSignal),
  );
}

/** Tools may need a moment to show what they did; one that never does has not done it. */
async function readUntil(
  deps: ConvergeDeps,
  claim: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  const readBack = async () => {
    const member = await look(deps, claim, person, signal);
    if ((member !== null) === claim.wanted) return member;
    const [did, shows] = claim.wanted ? ['added', 'does not list'] : ['removed', 'still lists'];
    throw new AppError('unavailable', `The tool says it ${did} the member but ${shows} them`);
  };
  return await retry(readBack, { attempts: 3, firstWaitMs: 100, maxWaitMs: 500, signal });
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

function isManaged({ managedDomains }: ConvergeDeps, { email }: Person): boolean {
  return managedDomains.includes(domainOf(email));
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
