import type { Instant } from './evidence.ts';
import type { RemovalCause } from './standing.ts';

/** A trainer in a group of a tool: who is wanted there, and what is known of the tool's side. */

export const membershipStates = [
  'waiting_email',
  'pending',
  'invited',
  'active',
  'removing',
  'removed',
  'released',
  'failed',
  'held',
  'orphaned',
] as const;

export type MembershipState = (typeof membershipStates)[number];

/** Those in which somebody is, or may be, in the tool by our doing. */
export const heldStates = [
  'pending',
  'invited',
  'active',
  'removing',
  'failed',
  'held',
  'orphaned',
] as const satisfies readonly MembershipState[];

/** `update` gives an account the address that its person has by now. */
export type ToolOperation = 'add' | 'remove' | 'update';

/**
 * `added`, `invited`, `removed` and `updated` were done and read back; `already_member` and `already_absent`
 * were so before; `released` is a member who was there before us and stays; `protected` is an
 * account that is never touched; `kept_for_another` shares an account with somebody who stays;
 * `failed` may succeed later; `refused` waits for somebody to change something.
 */
export const receiptOutcomes = [
  'added',
  'invited',
  'already_member',
  'removed',
  'updated',
  'already_absent',
  'released',
  'protected',
  'kept_for_another',
  'failed',
  'refused',
] as const;

export type ReceiptOutcome = (typeof receiptOutcomes)[number];

/** What derivation decides and remembers; the tool's side is not its business. */
export interface MembershipCore {
  wanted: boolean;
  generation: number;
  state: MembershipState;
  /** Whose brake counts it: an install whose reason stands, or whose reason fell last. */
  install: string;
  /** Why it is to be removed. */
  cause: RemovalCause | null;
  /** From when the brake may let its removal pass; null when nothing waits for that. */
  removeAfter: Instant | null;
}

/** What all reasons for a membership say together. */
export type MembershipVerdict =
  | { kind: 'wanted'; install: string }
  /** A reason stands that the configuration no longer leads here, which is no evidence. */
  | { kind: 'orphaned' }
  /** The marketplace itself provisions the project by now. */
  | { kind: 'managed' }
  | { kind: 'unwanted'; install: string; cause: RemovalCause; removeAfter: Instant };

interface Situation {
  hasEmail: boolean;
  /** Whether a call that changes the tool may ever have been made for it, or it was found there. */
  wasTouched: boolean;
}

/**
 * What a membership becomes when the evidence has changed: the same object where nothing changes,
 * null where there is none to have. Each change of `wanted` is a new generation, so that a call
 * decided under the old one is not made, and one under way does not settle it.
 */
export function deriveMembership(
  current: MembershipCore | null,
  verdict: MembershipVerdict,
  situation: Situation,
): MembershipCore | null {
  if (current === null) {
    return verdict.kind === 'wanted' ? toWanted(1, verdict.install, situation.hasEmail) : null;
  }
  switch (verdict.kind) {
    case 'wanted':
      return deriveWanted(current, verdict.install, situation.hasEmail);
    case 'unwanted':
      return deriveUnwanted(current, verdict, situation.wasTouched);
    default:
      return toOrphanedOrReleased(current, verdict.kind, situation.wasTouched);
  }
}

function deriveWanted(current: MembershipCore, install: string, hasEmail: boolean): MembershipCore {
  const { generation, state } = current;
  if (!current.wanted || state === 'orphaned') return toWanted(generation + 1, install, hasEmail);
  // What was refused may have been about what is different now, an address for one.
  const isOpen = state === 'failed' || (state === 'waiting_email' && hasEmail);
  if (isOpen) return toWanted(generation, install, hasEmail);
  return current.install === install ? current : { ...current, install };
}

type Unwanted = Extract<MembershipVerdict, { kind: 'unwanted' }>;

function deriveUnwanted(current: MembershipCore, verdict: Unwanted, wasTouched: boolean): MembershipCore {
  const { state, generation } = current;
  if (current.wanted) {
    if (!wasTouched) return toGone(current, 'removed');
    return toRemoving(verdict, generation + 1);
  }
  // Out once before by what ended, which says nothing new: it must not lead past the brake now.
  if (current.cause === 'found_again') return resume(current);
  // What an operator has to decide about, or has decided, was decided on other evidence.
  if (state === 'held' && verdict.cause !== current.cause) {
    return toRemoving(verdict, generation + 1);
  }
  // Begun by a version that had no brake, which has never been asked about it.
  if (current.cause === null && (state === 'removing' || state === 'failed')) {
    return toRemoving(verdict, generation);
  }
  if (state === 'removing') return deriveRemoving(current, verdict);
  return resume(current);
}

function resume(current: MembershipCore): MembershipCore {
  return current.state === 'failed' ? { ...current, state: 'removing' } : current;
}

/** Until the brake has been asked, other evidence may change when and why; later never by itself. */
function deriveRemoving(current: MembershipCore, verdict: Unwanted): MembershipCore {
  const { cause, removeAfter, generation } = current;
  if (removeAfter === null) return current;
  const isSame = cause === verdict.cause && removeAfter === verdict.removeAfter;
  return isSame ? current : toRemoving(verdict, generation);
}

function toRemoving({ install, cause, removeAfter }: Unwanted, generation: number): MembershipCore {
  return { wanted: false, generation, state: 'removing', install, cause, removeAfter };
}

/** It stays as it is in the tool, and so no call that is under way may settle it. */
function toOrphanedOrReleased(
  current: MembershipCore,
  kind: 'orphaned' | 'managed',
  wasTouched: boolean,
): MembershipCore {
  const isOut = current.state === 'removed' || current.state === 'released';
  if (isOut || current.state === (kind === 'orphaned' ? 'orphaned' : 'released')) return current;
  // An operator has decided about this one.
  if (current.cause === 'retired') return current;
  if (!wasTouched) return toGone(current, 'removed');
  if (kind === 'managed') return toGone(current, 'released');
  return { ...toGone(current, 'removed'), wanted: true, state: 'orphaned' };
}

function toWanted(generation: number, install: string, hasEmail: boolean): MembershipCore {
  const state = hasEmail ? 'pending' : 'waiting_email';
  return { wanted: true, generation, state, install, cause: null, removeAfter: null };
}

function toGone(current: MembershipCore, state: 'removed' | 'released'): MembershipCore {
  const generation = current.generation + 1;
  return { ...current, wanted: false, generation, state, cause: null, removeAfter: null };
}

/** What is to be done about a membership, given what a look at the tool found. */
export type ConvergeStep =
  | { act: 'call'; operation: ToolOperation }
  | { act: 'settle'; state: MembershipState; outcome: ReceiptOutcome };

export interface MemberFinding {
  isFound: boolean;
  isInvited: boolean;
  /** Whether we added the person: only those are ever removed. */
  isOurs: boolean;
  /** Whether the operator put the account out of bounds. */
  isProtected: boolean;
}

export function decideStep(wanted: boolean, { isFound, isInvited, isOurs, isProtected }: MemberFinding): ConvergeStep {
  if (isFound && isProtected) return { act: 'settle', state: 'released', outcome: 'protected' };
  if (wanted) {
    if (!isFound) return { act: 'call', operation: 'add' };
    const state = isInvited ? 'invited' : 'active';
    return { act: 'settle', state, outcome: 'already_member' };
  }
  if (!isFound) return { act: 'settle', state: 'removed', outcome: 'already_absent' };
  if (isOurs) return { act: 'call', operation: 'remove' };
  return { act: 'settle', state: 'released', outcome: 'released' };
}
