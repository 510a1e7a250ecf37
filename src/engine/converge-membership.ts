import type { Adapter, Member, Person } from '../adapters/adapter.ts';
import { AppError, isTransient, toAppError } from '../domain/errors.ts';
import { decideStep, type Operation } from '../domain/membership.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { retry } from '../lib/retry.ts';
import { callTool } from './call-tool.ts';
import type { Claim, ClaimStore, Result } from './claim-store.ts';

export interface ConvergeDeps {
  claims: ClaimStore;
  adapter: Adapter;
  /** The longest a call may take: half a lease at most, so that none outlives its lease. */
  timeoutMs: number;
  clock: Clock;
}

/** A dead worker's work is taken over after this long. */
export const leaseMs = 30_000;
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
  const { claims, clock } = deps;
  const result = await attempt(deps, claim, signal).catch((error: unknown) =>
    signal.aborted ? null : toFailure(claim, toAppError(error), clock),
  );
  if (result === null) await claims.putBack(claim, toInstant(clock.now()));
  else await claims.settle(claim, result, toInstant(clock.now()));
  return result;
}

/** @returns null where the claim no longer holds and nothing was done */
async function attempt(
  deps: ConvergeDeps,
  claim: Claim,
  signal: AbortSignal,
): Promise<Result | null> {
  const person = toPerson(claim);
  const found = await look(deps, claim, person, signal);
  const step = decideStep(claim.wanted, claim.isOurs, found !== null);
  if (step.act === 'call') return await change(deps, claim, person, found, signal);
  return {
    operation: claim.wanted ? 'add' : 'remove',
    outcome: step.outcome,
    state: step.state,
    ...(found !== null && { memberId: found.id }),
    // Gone, by our removal (its answer was lost) or another's: whoever comes back is not ours.
    ...(step.outcome === 'already_absent' && claim.memberId !== null && { isOurs: false }),
    nextAttemptAt: null,
  };
}

async function change(
  deps: ConvergeDeps,
  claim: Claim,
  person: Person,
  found: Member | null,
  signal: AbortSignal,
): Promise<Result | null> {
  const { claims, adapter, clock } = deps;
  const operation: Operation = found === null ? 'add' : 'remove';
  const intent = { operation, isFound: found !== null };
  const now = toInstant(clock.now());
  if (!(await claims.begin(claim, intent, now, instantIn(clock, leaseMs)))) return null;

  const member = await callTool(deps.timeoutMs, signal, async (callSignal) => {
    if (found === null) return await adapter.addMember(claim.groupId, person, callSignal);
    await adapter.removeMember(claim.groupId, found, callSignal);
    return found;
  });
  const readBack = await readUntil(deps, claim, { ...person, memberId: member.id }, signal);
  const memberId = readBack?.id ?? member.id;
  return operation === 'add'
    ? { operation, outcome: 'added', state: 'active', memberId, isOurs: true, nextAttemptAt: null }
    : // Whoever is found again after a removal was not added by us.
      { operation, outcome: 'removed', state: 'removed', isOurs: false, nextAttemptAt: null };
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
    toolStatus: error.status,
    // Adapters are others' code, and what they throw may quote an address.
    message: maskText(error.message).slice(0, 300),
  };
}
