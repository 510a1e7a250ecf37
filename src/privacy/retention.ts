import type { ContractEvidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { MembershipState } from '../domain/membership.ts';

/**
 * This folder decides what is kept of people and for how long, and clears the rest: names,
 * addresses, titles. The ids stay, as tombstones. It never adds evidence and changes no membership,
 * and it clears nobody who may still have to be found in a tool.
 */

export interface RetainedContract extends ContractEvidence {
  /** When it was first seen to have ended, where that was noted. */
  endSeenAt: string | null;
  /** Whether every link to it was removed, so that its end will never be told. */
  isUnlinked: number | boolean;
}

/**
 * Since when a contract is over; null while it is not, or where nobody knows. A read says only that
 * it has ended by now, and says so again each time: then it counts from when that was first seen.
 */
export function endOfContract(contract: RetainedContract): string | null {
  if (!hasEnded(contract)) return null;
  const { endedEventAt, activeReadAt, endSeenAt } = contract;
  if (endedEventAt === null) return endSeenAt;
  // An end that a later read disputed was not the end.
  return activeReadAt !== null && activeReadAt > endedEventAt ? activeReadAt : endedEventAt;
}

/** Whether the end of a contract is to be noted, because no event gives its time. */
export function needsNote(contract: RetainedContract): boolean {
  return hasEnded(contract) && contract.endedEventAt === null && contract.endSeenAt === null;
}

/** By whoever says so, or because it cannot be seen to go on any more. */
function hasEnded(contract: RetainedContract): boolean {
  return statusOfContract(contract) === 'ended' || Boolean(contract.isUnlinked);
}

/** Whether a note is of an end that has turned out to be none. */
export function isNoteStale(contract: RetainedContract): boolean {
  return contract.endSeenAt !== null && !hasEnded(contract);
}

export function isOver(contract: RetainedContract, before: string): boolean {
  const end = endOfContract(contract);
  return end !== null && end < before;
}

/** What is known of somebody's place in a tool, as far as it matters here. */
export interface RetainedMembership {
  wanted: number;
  state: MembershipState;
  memberId: string | null;
  isOurs: number;
}

/** Whether somebody may be in the tool, or on the way: their address may be needed to find them. */
export function mayBeInTool({ wanted, state, memberId, isOurs }: RetainedMembership): boolean {
  if (wanted === 1) return true;
  if (state === 'removed' || state === 'released') return false;
  return memberId !== null || isOurs === 1;
}

/** Whether the marketplace says, or may yet turn out to say, that the contract goes on. */
export function mayBeRunning(contract: ContractEvidence): boolean {
  const status = statusOfContract(contract);
  return status === 'active' || status === 'disputed';
}

/**
 * Whether what is known of a person in one install has to go: all of their contracts there are over
 * since before `before`. Somebody without any is kept: that there is none is no evidence of an end.
 */
export function isPersonOver(contracts: readonly RetainedContract[], before: string): boolean {
  return contracts.length > 0 && contracts.every((contract) => isOver(contract, before));
}
