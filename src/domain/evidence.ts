/**
 * What is known, as registers: one row per (install, id), merged by maximum. Merging is commutative,
 * associative and idempotent, so events and reads may come in any order, any number of times, from
 * any instance. What is *true* is never stored: it is a pure function of the registers.
 *
 * Instants are ISO-8601 UTC text; null is a register that nothing has set.
 */

type Instant = string;

export interface ContractEvidence {
  install: string;
  contractId: string;
  /** The latest `contract.started`. */
  startedEventAt: Instant | null;
  /** The latest `contract.ended`. */
  endedEventAt: Instant | null;
  /** When the latest read that listed it active began. */
  activeReadAt: Instant | null;
  /** When the latest read that listed it ended began. */
  endedReadAt: Instant | null;
  /** The latest `milestone.*`: its budget is worth reading again. */
  budgetEventAt: Instant | null;
  title: string | null;
  titleVersion: string | null;
}

/** A link's attributes never change: re-pointing a project deletes one link and creates another. */
export interface LinkEvidence {
  install: string;
  linkId: string;
  removedEventAt: Instant | null;
  externalProjectId: string | null;
  externalProjectName: string | null;
  provisioningMode: string | null;
}

export interface GrantEvidence {
  install: string;
  grantId: string;
  revokedEventAt: Instant | null;
}

/** Grows only, and only from a record that names both sides. */
export interface PairEvidence {
  install: string;
  contractId: string;
  linkId: string;
}

export interface ParticipationEvidence {
  install: string;
  contractId: string;
  trainerId: string;
  seenAt: Instant;
}

/** Addresses are kept per install: one customer's consent is not another's. */
export interface PersonEvidence {
  install: string;
  trainerId: string;
  displayName: string | null;
  displayNameVersion: string | null;
  workEmail: string | null;
  workEmailVersion: string | null;
}

/** What one event or one read adds. */
export interface Evidence {
  contracts: ContractEvidence[];
  links: LinkEvidence[];
  grants: GrantEvidence[];
  pairs: PairEvidence[];
  participations: ParticipationEvidence[];
  people: PersonEvidence[];
}

export type ContractStatus = 'unknown' | 'active' | 'disputed' | 'ended';
export type LinkStatus = 'unknown' | 'live' | 'removed';

/** A read may have been under way when the event was raised; after this long it was not. */
const disputeAfterMs = 10 * 60_000;

export function statusOfContract(contract: ContractEvidence): ContractStatus {
  if (contract.endedReadAt !== null) return 'ended';
  if (contract.endedEventAt !== null) {
    return isDisputed(contract.endedEventAt, contract.activeReadAt) ? 'disputed' : 'ended';
  }
  if (contract.startedEventAt !== null || contract.activeReadAt !== null) return 'active';
  return 'unknown';
}

function isDisputed(endedEventAt: Instant, activeReadAt: Instant | null): boolean {
  if (activeReadAt === null) return false;
  return Date.parse(activeReadAt) - Date.parse(endedEventAt) >= disputeAfterMs;
}

export function statusOfLink(link: LinkEvidence): LinkStatus {
  if (link.removedEventAt !== null) return 'removed';
  return link.externalProjectId === null ? 'unknown' : 'live';
}

/**
 * Orders what sources say of an attribute: reads beat events, later reads beat earlier, greater
 * event ids beat smaller. Versions compare as text.
 */
export function versionOfRead(beganAt: Instant): string {
  return `1:${beganAt}`;
}

/** @param eventId ids of digits compare as numbers; an event without an id loses to all others */
export function versionOfEvent(eventId: string | null): string {
  if (eventId === null) return '0:';
  return /^\d+$/.test(eventId) ? `0:${eventId.padStart(40, '0')}` : `0:${eventId}`;
}
