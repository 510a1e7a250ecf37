import type { Row } from '../db/schema.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractEvidence } from '../domain/evidence.ts';
import { statusOfContract } from '../domain/evidence-status.ts';

/**
 * This folder clears names, addresses and titles after the retention, or when a person is to be forgotten. The ids
 * stay. It never adds evidence, changes no membership, and clears nobody who may still have to be found in a tool.
 */

export interface RetainedContract extends ContractEvidence {
  /** When its end was first seen; null if that was not noted. */
  endSeenAt: string | null;
  /** Whether all its links were removed, so that its end will never be reported. */
  isUnlinked: number | boolean;
}

export type PersonContract = RetainedContract & { trainerId: string };

/**
 * When a contract ended; null if it has not, or if the time is unknown. A reading only says that the contract has
 * ended by now, so the first one to say so counts.
 */
export function endOfContract(contract: RetainedContract): string | null {
  if (!hasEnded(contract)) return null;
  const { endedEventAt, activeReadAt, endSeenAt } = contract;
  if (endedEventAt === null) return endSeenAt;
  // A later reading listed it as active: that event was not the end.
  return activeReadAt !== null && activeReadAt > endedEventAt ? activeReadAt : endedEventAt;
}

/** Whether to note when the end was first seen, because no event says when it was. */
export function needsNote(contract: RetainedContract): boolean {
  return hasEnded(contract) && contract.endedEventAt === null && contract.endSeenAt === null;
}

function hasEnded(contract: RetainedContract): boolean {
  return statusOfContract(contract) === 'ended' || Boolean(contract.isUnlinked);
}

/** Whether the contract goes on although its end was noted. */
export function isNoteStale(contract: RetainedContract): boolean {
  return contract.endSeenAt !== null && !hasEnded(contract);
}

export function isOver(contract: RetainedContract, before: string): boolean {
  const end = endOfContract(contract);
  return end !== null && end < before;
}

/** Whether the trainer may be in the tool, or about to be: then their address may be needed to find them. */
export function mayBeInTool(membership: Row<'membership'>): boolean {
  const { wanted, memberId, isOurs } = membership;
  return isHeld(membership) && (wanted || memberId !== null || isOurs);
}

export function mayBeRunning(contract: ContractEvidence): boolean {
  const status = statusOfContract(contract);
  return status === 'active' || status === 'disputed';
}

/**
 * Whether all contracts of a trainer in one install ended before `before`. A trainer without a known contract is kept:
 * that is no evidence of an end.
 */
export function isPersonOver(contracts: readonly RetainedContract[], before: string): boolean {
  return contracts.length > 0 && contracts.every((contract) => isOver(contract, before));
}

export interface PersonOnRecord {
  trainerId: string;
  /** Every install that ever named the trainer. */
  installs: readonly string[];
  /** Installs that have already forgotten the trainer. */
  forgottenBy: ReadonlySet<string>;
  contracts: readonly PersonContract[];
  memberships: readonly Row<'membership'>[];
  /** The installs that gave reasons for the memberships. */
  reasons: readonly { membershipId: number; install: string }[];
}

export interface ForgetPlan {
  /** Installs that forget the trainer. */
  cleared: string[];
  neededBy: Need[];
  /** Memberships of which every install that gave a reason has forgotten the trainer. */
  membershipIds: number[];
  keptMembershipIds: number[];
}

/** An install that still needs the trainer, and why. */
export interface Need {
  install: string;
  reason: string;
}

/**
 * Pure: what may be forgotten of a person. Each install is judged by itself: that one customer needs the trainer does
 * not keep others from forgetting them.
 *
 * @param only the only install that forgets; undefined for all
 * @throws AppError `not_found`; `conflict` if no install can forget the trainer yet
 */
export function planForget(known: PersonOnRecord, only?: string): ForgetPlan {
  const { trainerId, installs, forgottenBy, memberships } = known;
  const asked = installs.filter((install) => only === undefined || install === only);
  if (only !== undefined && asked.length === 0) {
    throw new AppError('not_found', `${only} knows nothing of the trainer ${trainerId}`);
  }
  const needs = installs.flatMap((install) => needOf(known, install) ?? []);
  const needed = new Set(needs.map(({ install }) => install));
  const cleared = asked.filter((install) => !needed.has(install));
  if (cleared.length === 0 && needs.length > 0) throw toRefusal(known, needs, only);
  const gone = new Set([...cleared, ...[...forgottenBy].filter((one) => !needed.has(one))]);
  const isGone = (row: Row<'membership'>) => !isHeld(row) && ownersOf(known, row).every((install) => gone.has(install));
  return {
    cleared,
    neededBy: needs.filter(({ install }) => asked.includes(install)),
    membershipIds: memberships.filter(isGone).map(({ id }) => id),
    keptMembershipIds: memberships.filter((row) => !isGone(row)).map(({ id }) => id),
  };
}

function needOf({ contracts, memberships }: PersonOnRecord, install: string): Need | null {
  const running = contracts.find((one) => one.install === install && mayBeRunning(one));
  if (running !== undefined) {
    return { install, reason: `they have an active contract there (${running.contractId})` };
  }
  const held = memberships.find((row) => row.install === install && isHeld(row));
  if (held === undefined) return null;
  const { groupId, tool, state } = held;
  return { install, reason: `they may still be in ${groupId} of ${tool} (${state})` };
}

function isHeld({ wanted, state }: Row<'membership'>): boolean {
  return wanted || (state !== 'removed' && state !== 'released');
}

function ownersOf({ reasons }: PersonOnRecord, { id, install }: Row<'membership'>): string[] {
  return [install, ...reasons.filter(({ membershipId }) => membershipId === id).map((reason) => reason.install)];
}

function toRefusal({ trainerId }: PersonOnRecord, needs: Need[], only?: string): AppError {
  const reasons = needs
    .filter(({ install }) => only === undefined || install === only)
    .map(({ install, reason }) => `install ${install}: ${reason}`);
  return new AppError(
    'conflict',
    `The trainer ${trainerId} is still needed (${reasons.join('; ')}): end the contract first, and try again when "gangway members" shows them as removed`,
  );
}
