import type { Instant } from './evidence.ts';
import type { RemovalCause } from './standing.ts';

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

/** The states in which the trainer is in the tool because of Gangway, or may be. */
export const heldStates = [
  'pending',
  'invited',
  'active',
  'removing',
  'failed',
  'held',
  'orphaned',
] as const satisfies readonly MembershipState[];

/** `update` changes the address of an account to the trainer's current one. */
export type ToolOperation = 'add' | 'remove' | 'update';

/**
 * `added`, `invited`, `removed` and `updated` were done and read back. `already_member` and `already_absent` needed no call.
 * `released`: the member was in before and stays. `protected`: the account is never touched. `kept_for_another`: another
 * trainer, who stays, uses the same account. `unproven`: a removal was sent, but the tool does not show who is in the group.
 * `failed` may succeed later. `refused` waits until something is changed.
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
  'unproven',
  'failed',
  'refused',
] as const;

export type ReceiptOutcome = (typeof receiptOutcomes)[number];

/** What the derivation decides. It does not depend on the tool. */
export interface MembershipCore {
  wanted: boolean;
  generation: number;
  state: MembershipState;
  /** The install whose brake counts it: one with a reason, or the one whose reason ended last. */
  install: string;
  /** Why it is to be removed. */
  cause: RemovalCause | null;
  /** When the brake may clear its removal; null if no removal waits for that. */
  removeAfter: Instant | null;
}

/** The conclusion from all reasons for a membership. */
export type MembershipVerdict =
  | { kind: 'wanted'; install: string }
  /** There is a reason, but the configuration no longer routes it here. Configuration is not evidence. */
  | { kind: 'orphaned' }
  /** The marketplace itself provisions the project now. */
  | { kind: 'managed' }
  | { kind: 'unwanted'; install: string; cause: RemovalCause; removeAfter: Instant };

interface Situation {
  hasEmail: boolean;
  /** Whether Gangway may have called the tool for it, or has found the member there. */
  wasTouched: boolean;
}

/**
 * The membership that follows from new evidence: the same object if nothing changes, null if there is none. Each change of
 * `wanted` starts a new generation, so that calls for the old one are not made, and those under way do not settle it.
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
  // The cause of a refusal may be gone, for example because the address has changed.
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
  // The trainer was already removed because of this end, which must not bypass the brake now.
  if (current.cause === 'found_again') return resume(current);
  // The operator's decision is about other evidence.
  if (state === 'held' && verdict.cause !== current.cause) {
    return toRemoving(verdict, generation + 1);
  }
  // Nobody knows why it is being removed, so the brake must decide.
  if (current.cause === null && (state === 'removing' || state === 'failed')) {
    return toRemoving(verdict, generation);
  }
  if (state === 'removing') return deriveRemoving(current, verdict);
  return resume(current);
}

function resume(current: MembershipCore): MembershipCore {
  return current.state === 'failed' ? { ...current, state: 'removing' } : current;
}

/** New evidence may change cause and time until the brake has decided. */
function deriveRemoving(current: MembershipCore, verdict: Unwanted): MembershipCore {
  const { cause, removeAfter, generation } = current;
  if (removeAfter === null) return current;
  const isSame = cause === verdict.cause && removeAfter === verdict.removeAfter;
  return isSame ? current : toRemoving(verdict, generation);
}

function toRemoving({ install, cause, removeAfter }: Unwanted, generation: number): MembershipCore {
  return { wanted: false, generation, state: 'removing', install, cause, removeAfter };
}

/** The member stays in the tool. A new generation keeps calls that are under way from settling it. */
function toOrphanedOrReleased(
  current: MembershipCore,
  kind: 'orphaned' | 'managed',
  wasTouched: boolean,
): MembershipCore {
  const isOut = current.state === 'removed' || current.state === 'released';
  if (isOut || current.state === (kind === 'orphaned' ? 'orphaned' : 'released')) return current;
  // An operator has decided to remove it.
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

/** What to do about a membership after a look at the tool. */
export type ConvergeStep =
  | { act: 'call'; operation: ToolOperation }
  | { act: 'settle'; state: MembershipState; outcome: ReceiptOutcome };

export interface MemberFinding {
  isFound: boolean;
  isInvited: boolean;
  /** Whether Gangway added the member. Only such members are removed. */
  isOurs: boolean;
  /** Whether the operator protects the account. */
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
