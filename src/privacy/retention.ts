import type { Row } from '../db/schema.ts';
import { AppError } from '../domain/errors.ts';
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

export type PersonContract = RetainedContract & { trainerId: string };

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
interface RetainedMembership {
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

/** All that is known of one person, by install. */
export interface PersonOnRecord {
  trainerId: string;
  /** Every install that ever named the trainer. */
  installs: readonly string[];
  /** Installs that have already forgotten the trainer. */
  forgottenBy: ReadonlySet<string>;
  contracts: readonly PersonContract[];
  memberships: readonly Row<'membership'>[];
  /** The reasons of the trainer's memberships, with the install of each. */
  reasons: readonly { membershipId: number; install: string }[];
}

export interface ForgetPlan {
  /** Installs that need nothing of the trainer any more. */
  cleared: string[];
  neededBy: Need[];
  /** Memberships that no install needs, and that no remaining install was a reason for. */
  membershipIds: number[];
  keptMembershipIds: number[];
}

/** An install that still needs to know the trainer, and what for. */
export interface Need {
  install: string;
  reason: string;
}

/**
 * Pure: what may be forgotten of a person. Each install is judged by itself: what one customer needs does not keep
 * others from forgetting.
 *
 * @param only the only install that is to forget; undefined for all
 * @throws AppError `not_found`, or `conflict` where no install can forget the trainer yet
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
  const said = needs
    .filter(({ install }) => only === undefined || install === only)
    .map(({ install, reason }) => `install ${install}: ${reason}`);
  return new AppError(
    'conflict',
    `The trainer ${trainerId} is still needed (${said.join('; ')}): end the contract first, and try again when "gangway members" shows them as removed`,
  );
}
