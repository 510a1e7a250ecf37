/** A trainer in a group of a tool: who is wanted there, and what is known of the tool's side. */

export const membershipStates = [
  'waiting_email',
  'pending',
  'active',
  'removing',
  'removed',
  'released',
  'failed',
] as const;

export type MembershipState = (typeof membershipStates)[number];

export type Operation = 'add' | 'remove';

/**
 * `added` and `removed` were done and read back; `already_member` and `already_absent` were so
 * before; `released` is a member who was there before us and stays; `failed` may succeed later;
 * `refused` waits for somebody to change something.
 */
export type ReceiptOutcome =
  | 'added'
  | 'already_member'
  | 'removed'
  | 'already_absent'
  | 'released'
  | 'failed'
  | 'refused';

/** Why somebody belongs in a group; or no longer does. */
export interface Reason {
  install: string;
  contractId: string;
  linkId: string;
  stands: boolean;
}

/** What derivation decides and remembers; the tool's side is not its business. */
export interface MembershipCore {
  wanted: boolean;
  generation: number;
  state: MembershipState;
}

interface Situation {
  /** Whether any reason stands. */
  isWanted: boolean;
  hasEmail: boolean;
  /** Whether a call that changes the tool may ever have been made for it. */
  wasTouched: boolean;
}

/**
 * What a membership becomes when the evidence has changed: the same object where nothing changes,
 * null where there is none to have. Each change of `wanted` is a new generation, so that a call
 * decided under the old one is not made, and one under way does not settle it.
 */
export function deriveMembership(
  current: MembershipCore | null,
  { isWanted, hasEmail, wasTouched }: Situation,
): MembershipCore | null {
  if (current === null) return isWanted ? toWanted(1, hasEmail) : null;
  if (isWanted && !current.wanted) return toWanted(current.generation + 1, hasEmail);
  if (!isWanted && current.wanted) {
    const state = wasTouched ? 'removing' : 'removed';
    return { wanted: false, generation: current.generation + 1, state };
  }
  return deriveSame(current, hasEmail);
}

/** Nothing else is wanted than before, but what is known may be what it waits for. */
function deriveSame(current: MembershipCore, hasEmail: boolean): MembershipCore {
  const { wanted, state } = current;
  if (state === 'waiting_email' && hasEmail) return { ...current, state: 'pending' };
  // What was refused may have been about what is different now, an address for one.
  if (state !== 'failed') return current;
  return wanted ? toWanted(current.generation, hasEmail) : { ...current, state: 'removing' };
}

function toWanted(generation: number, hasEmail: boolean): MembershipCore {
  return { wanted: true, generation, state: hasEmail ? 'pending' : 'waiting_email' };
}

/** What is to be done about a membership, given what a look at the tool found. */
export type Step =
  | { act: 'call'; operation: Operation }
  | { act: 'settle'; state: MembershipState; outcome: ReceiptOutcome };

/** @param isOurs whether we added the person: only those are ever removed */
export function decideStep(wanted: boolean, isOurs: boolean, isFound: boolean): Step {
  if (wanted) {
    if (!isFound) return { act: 'call', operation: 'add' };
    return { act: 'settle', state: 'active', outcome: 'already_member' };
  }
  if (!isFound) return { act: 'settle', state: 'removed', outcome: 'already_absent' };
  if (isOurs) return { act: 'call', operation: 'remove' };
  return { act: 'settle', state: 'released', outcome: 'released' };
}
