import type { ContractEvidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';
import type { MembershipState } from '../domain/membership.ts';

/**
 * This folder decides what is kept of people and for how long, and clears the rest: names, addresses, titles. The ids
 * stay, as tombstones. It never adds evidence, changes no membership, and clears no trainer who may still have to be
 * found in a tool.
 */

export interface RetainedContract extends ContractEvidence {
  /** When its end was first seen, where that was noted. */
  endSeenAt: string | null;
  /** Whether every link to it was removed, so that its end will never be reported. */
  isUnlinked: number | boolean;
}

/**
 * Since when a contract is over; null while it is not, or where this is not known. A read only says that it has ended
 * by now, and says so again each time. Its end counts from when it was first seen.
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

/** Whether a source says so, or the contract can no longer be seen to go on. */
function hasEnded(contract: RetainedContract): boolean {
  return statusOfContract(contract) === 'ended' || Boolean(contract.isUnlinked);
}

/** Whether a noted end has turned out not to be one. */
export function isNoteStale(contract: RetainedContract): boolean {
  return contract.endSeenAt !== null && !hasEnded(contract);
}

export function isOver(contract: RetainedContract, before: string): boolean {
  const end = endOfContract(contract);
  return end !== null && end < before;
}

/** What retention needs to know of a membership. */
export interface RetainedMembership {
  wanted: boolean;
  state: MembershipState;
  memberId: string | null;
  isOurs: boolean;
}

/** Whether the trainer may be in the tool, or about to be: their address may be needed to find them. */
export function mayBeInTool({ wanted, state, memberId, isOurs }: RetainedMembership): boolean {
  if (wanted) return true;
  if (state === 'removed' || state === 'released') return false;
  return memberId !== null || isOurs;
}

/** Whether the marketplace says, or may still say, that the contract goes on. */
export function mayBeRunning(contract: ContractEvidence): boolean {
  const status = statusOfContract(contract);
  return status === 'active' || status === 'disputed';
}

/**
 * Whether what is known of a trainer in one install has to go: all of their contracts there ended before `before`. A
 * trainer without a contract is kept: that none is known is no evidence of an end.
 */
export function isPersonOver(contracts: readonly RetainedContract[], before: string): boolean {
  return contracts.length > 0 && contracts.every((contract) => isOver(contract, before));
}
