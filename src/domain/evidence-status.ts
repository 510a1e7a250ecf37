import {
  type ContractEvidence,
  type GrantEvidence,
  goneSince,
  type Instant,
  type LinkEvidence,
  type PairEvidence,
  type ParticipationEvidence,
} from './evidence.ts';

/** Status, as pure functions of the registers (docs/rules.md, Evidence). */

/**
 * `disputed`: a later reading contradicts a delivered end, so access stays. A contract that no list has may still be active,
 * because lists may be cut off without a sign.
 */
export const contractStatuses = ['unknown', 'active', 'disputed', 'ended'] as const;

export type ContractStatus = (typeof contractStatuses)[number];
export type LinkStatus = 'unknown' | 'live' | 'removed' | 'absent';

/** A reading that begins this long after the event was not under way when the contract ended. */
const disputeAfterMs = 10 * 60_000;

export type ContractRegisters = Pick<
  ContractEvidence,
  'startedEventAt' | 'endedEventAt' | 'activeReadAt' | 'endedReadAt' | 'endedByOperatorAt' | 'reopenedAt'
>;

export function statusOfContract(contract: ContractRegisters): ContractStatus {
  const { endedReadAt, endedEventAt, activeReadAt, endedByOperatorAt, reopenedAt } = contract;
  if (endedReadAt !== null) return 'ended';
  if (isAfter(endedByOperatorAt, reopenedAt)) return 'ended';
  const wasEnded = endedEventAt !== null && isAfter(endedEventAt, reopenedAt);
  if (wasEnded && !isDisputed(endedEventAt, activeReadAt)) return 'ended';
  if (wasEnded) return 'disputed';
  if (contract.startedEventAt !== null || activeReadAt !== null) return 'active';
  return 'unknown';
}

/** An earlier reading may not know the operator's decision yet. */
const contradictedAfterMs = 3_600_000;

/** Whether the marketplace still lists a contract as active an hour after an operator ended it. Access stays ended. */
export function isOperatorContradicted(contract: ContractRegisters): boolean {
  const { endedReadAt, endedByOperatorAt, activeReadAt, reopenedAt, endedEventAt } = contract;
  if (endedReadAt !== null || endedByOperatorAt === null || activeReadAt === null) return false;
  const isDelivered = endedEventAt !== null && isAfter(endedEventAt, reopenedAt);
  if (isDelivered || !isAfter(endedByOperatorAt, reopenedAt)) return false;
  return Date.parse(activeReadAt) - Date.parse(endedByOperatorAt) >= contradictedAfterMs;
}

/** The status that is shown to people. */
export function shownStatusOf(contract: ContractRegisters): ContractStatus {
  return isOperatorContradicted(contract) ? 'disputed' : statusOfContract(contract);
}

/** The latest event, reading or operator's decision by which the contract is active. */
export function confirmedAt(contract: ContractRegisters): Instant | null {
  const { startedEventAt, activeReadAt, reopenedAt } = contract;
  return latest([startedEventAt, activeReadAt, reopenedAt]);
}

/**
 * Whether the contract is active, although the last reading of its install listed it neither as active nor as ended. It can
 * stay so for ever.
 *
 * @param readBeganAt when that reading began
 */
export function isSuspect(contract: ContractRegisters, readBeganAt: Instant): boolean {
  const status = statusOfContract(contract);
  if (status !== 'active' && status !== 'disputed') return false;
  return isAfter(readBeganAt, confirmedAt(contract));
}

function isDisputed(endedEventAt: Instant, activeReadAt: Instant | null): boolean {
  if (activeReadAt === null) return false;
  return Date.parse(activeReadAt) - Date.parse(endedEventAt) >= disputeAfterMs;
}

export type LinkRegisters = Pick<LinkEvidence, 'removedEventAt' | 'seenAt' | 'absences' | 'externalProjectId'>;

export function statusOfLink(link: LinkRegisters): LinkStatus {
  if (link.removedEventAt !== null) return 'removed';
  if (absentSince(link) !== null) return 'absent';
  return link.externalProjectId === null ? 'unknown' : 'live';
}

export function absentSince({ absences, seenAt }: LinkRegisters): Instant | null {
  return goneSince(absences, seenAt);
}

/** Who adds members to the project of a link. `unknown`: this version does not know the mode. */
export type Provisioning = 'ours' | 'of_marketplace' | 'unknown';

/** @param mode the marketplace's word; without one, Gangway adds members */
export function provisioningOf(mode: string | null): Provisioning {
  if (mode === null || mode === 'PARTNER_WEBHOOK') return 'ours';
  return mode === 'MANAGED_ADAPTER' ? 'of_marketplace' : 'unknown';
}

/** A list of contracts may be some seconds old and lack a new link. */
const listedAfterMs = 60_000;

/** Whether the contracts of the link were read after the link was created. */
export function areContractsRead({
  firstSeenAt,
  contractsReadAt,
}: Pick<LinkEvidence, 'firstSeenAt' | 'contractsReadAt'>): boolean {
  if (contractsReadAt === null || firstSeenAt === null) return contractsReadAt !== null;
  return Date.parse(contractsReadAt) - Date.parse(firstSeenAt) >= listedAfterMs;
}

/**
 * Whether a link ended together with its grant: it was not seen since another grant came, or it ended after its grant was
 * revoked. The customer may soon create it again.
 *
 * @param goneAt since when the link is gone
 */
export function wentWithGrant(
  { seenAt }: Pick<LinkEvidence, 'seenAt'>,
  goneAt: Instant,
  grants: readonly GrantEvidence[],
): boolean {
  if (isAfter(currentGrant(grants)?.firstActiveReadAt ?? null, seenAt)) return true;
  const revokedAt = revokedGrant(grants)?.revokedEventAt ?? null;
  return revokedAt !== null && goneAt >= revokedAt;
}

/** @returns when the trainer left the contract; null while they are on it */
export function leftSince({ absences, seenAt }: Pick<ParticipationEvidence, 'absences' | 'seenAt'>): Instant | null {
  return goneSince(absences, seenAt);
}

/** @returns when the contract moved from the link to another one; null while it is on the link */
export function movedSince({ omissions, namedAt }: Pick<PairEvidence, 'omissions' | 'namedAt'>): Instant | null {
  return goneSince(omissions, namedAt);
}

/**
 * Of all grants of an install, the one that was last answered ACTIVE counts. A late `install.revoked` for an old grant says
 * nothing about it. If no grant was ever read, any revoked one counts.
 *
 * @returns the revoked grant; null if the install's grant is live
 */
export function revokedGrant(grants: readonly GrantEvidence[]): GrantEvidence | null {
  const current = currentGrant(grants);
  if (current !== undefined) {
    return isAfter(current.revokedEventAt, current.activeReadAt) ? current : null;
  }
  const [revoked] = grants
    .filter((grant) => grant.revokedEventAt !== null)
    .sort((a, b) => compare(b.revokedReceivedAt, a.revokedReceivedAt));
  return revoked ?? null;
}

function currentGrant(grants: readonly GrantEvidence[]): GrantEvidence | undefined {
  const [current] = grants
    .filter((grant) => grant.activeReadAt !== null)
    .sort((a, b) => compare(b.activeReadAt, a.activeReadAt) || compare(a.grantId, b.grantId));
  return current;
}

function isAfter(instant: Instant | null, other: Instant | null): boolean {
  return instant !== null && (other === null || instant > other);
}

function latest(instants: readonly (Instant | null)[]): Instant | null {
  return instants.reduce((a, b) => (isAfter(b, a) ? b : a), null);
}

function compare(a: string | null, b: string | null): number {
  return (a ?? '') < (b ?? '') ? -1 : Number((a ?? '') > (b ?? ''));
}
