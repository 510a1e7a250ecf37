import type { Adapter, Member, Person } from '../adapters/adapter.ts';
import { AppError } from '../domain/errors.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import { retry } from '../lib/retry.ts';
import type { Begun } from './account-store.ts';
import { callTool } from './call-tool.ts';
import type { Claim, ClaimStore } from './claim-store.ts';
import { isUnlisted } from './converge-invitation.ts';
import type { Intent, SettleStore } from './settle-store.ts';

/** What bringing a membership in line is made of: a look, an intent, a call, and a read back. */

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
  /**
   * Whether accounts may be ended, renamed or activated: not where customers share the tool and any
   * of them may name an address of anybody's.
   */
  mayChangeAccounts(): boolean;
  clock: Clock;
}

/** A dead worker's work is taken over after this long. */
export const leaseMs = 30_000;

/** Commits what is meant before the call that does it. @returns null where it must not be made */
export async function begin(
  { settling, clock }: Pick<ConvergeDeps, 'settling' | 'clock'>,
  claim: Claim,
  intent: Intent,
): Promise<Begun | null> {
  const now = toInstant(clock.now());
  const begunAt = performance.now();
  const begun = await settling.begin(claim, intent, now, instantIn(clock, leaseMs));
  // A process that was frozen meanwhile wakes up with a lease that is somebody else's by now.
  return performance.now() - begunAt > leaseMs / 2 ? null : begun;
}

export async function look(
  { adapter, timeoutMs }: ConvergeDeps,
  { groupId }: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  return await callTool(timeoutMs, signal, (callSignal) =>
    adapter.findMember(groupId, person, callSignal),
  );
}

const longestListAgeMs = 15_000;

/**
 * How old a list may be in which somebody is looked for, so that one serves all who are due at about
 * the same time. Never older than the wish; and where a call may have let them in, or they are to be
 * out, what was so before proves nothing.
 */
export function maxListAgeMs({ adapter, clock }: ConvergeDeps, claim: Claim): number {
  const wasLetIn = claim.addresses.some(({ givenAt }) => givenAt !== null);
  if (!claim.wanted || (wasLetIn && !isUnlisted(adapter, claim))) return 0;
  const dueForMs = clock.now().getTime() - Date.parse(claim.dueAt);
  return Math.max(0, Math.min(dueForMs, longestListAgeMs));
}

/** Tools may need a moment to show what they did; one that never does has not done it. */
export async function readUntil(
  deps: ConvergeDeps,
  claim: Claim,
  person: Person,
  signal: AbortSignal,
): Promise<Member | null> {
  const readBack = async () => {
    const member = await look(deps, claim, person, signal);
    // Somebody else may have the address by now: who was taken out is known by their id.
    const isThere = member !== null && (claim.wanted || member.id === person.memberId);
    if (isThere === claim.wanted) return member;
    const [did, shows] = claim.wanted ? ['added', 'does not list'] : ['removed', 'still lists'];
    throw new AppError('unavailable', `The tool says it ${did} the member but ${shows} them`);
  };
  return await retry(readBack, { attempts: 3, firstWaitMs: 100, maxWaitMs: 500, signal });
}
