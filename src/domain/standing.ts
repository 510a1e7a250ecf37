import type { GrantEvidence, Instant, PairEvidence, ParticipationEvidence } from './evidence.ts';
import {
  absentSince,
  type ContractRegisters,
  type LinkRegisters,
  leftSince,
  movedSince,
  revokedGrant,
  statusOfContract,
  statusOfLink,
  wentWithGrant,
} from './evidence-status.ts';

/**
 * Why a trainer is removed (docs/rules.md, Removing). The first three and `retired` are explicit and act at once. Everything
 * else is weaker and waits. `found_again`: a removed trainer is in the tool again. Only a listing shows that, so it waits and
 * the brake counts it, even if the contract ended explicitly.
 */
export const removalCauses = [
  'contract_ended',
  'contract_read_ended',
  'contract_ended_by_operator',
  'contract_moved',
  'link_removed',
  'link_absent',
  'participation_left',
  'grant_revoked',
  'found_again',
  'retired',
] as const;

export type RemovalCause = (typeof removalCauses)[number];

/**
 * The cause for people, as the rest of a sentence that begins with “because”.
 *
 * @param cause may be one that only another version of Gangway knows
 */
export function describeCause(cause: string): string {
  return causeWords.get(cause) ?? cause.replaceAll('_', ' ');
}

const wordsOfCauses: Record<RemovalCause, string> = {
  contract_ended: 'the contract has ended',
  contract_read_ended: 'the contract is listed as ended',
  contract_ended_by_operator: 'an operator ended the contract',
  contract_moved: 'the contract is listed under another job',
  link_removed: 'the link to the project was removed',
  link_absent: 'the link to the project is no longer listed',
  participation_left: 'the trainer is no longer on the contract',
  grant_revoked: 'the customer has disconnected',
  found_again: 'the trainer was removed before and is in the tool again',
  retired: 'an operator retired the membership',
};

const causeWords = new Map<string, string>(Object.entries(wordsOfCauses));

export interface ReasonEnd {
  cause: RemovalCause;
  since: Instant;
  /** When the trainer may be removed because of it. */
  dueAt: Instant;
  /** The same while a successor link is about to take over: until its contracts were read, but not for ever. */
  dueWithSuccessorAt: Instant;
}

/** Whether a reason to be in a group still holds. Without any end, it has never been a reason yet. */
export type Standing = { stands: true } | { stands: false; ends: readonly ReasonEnd[] };

export interface ReasonFacts {
  contract: ContractRegisters;
  link: LinkRegisters;
  pair: Pick<PairEvidence, 'omissions' | 'namedAt'>;
  participation: Pick<ParticipationEvidence, 'absences' | 'seenAt'>;
  /** All grants that its install ever had. */
  grants: readonly GrantEvidence[];
}

export interface GracePeriods {
  graceMs: number;
  revokedGraceMs: number;
}

/** Whether the marketplace or an operator said so directly, so that nothing has to confirm it. */
export function isExplicit(cause: RemovalCause): boolean {
  return explicitCauses.has(cause);
}

const explicitCauses: ReadonlySet<RemovalCause> = new Set([
  'contract_ended',
  'contract_read_ended',
  'contract_ended_by_operator',
  'retired',
]);

/** Causes that may be wrong, and therefore wait for a grace period. */
export const weakerCauses: readonly RemovalCause[] = removalCauses.filter((cause) => !isExplicit(cause));

/** Whether an operator decided it. */
export function isByOperator(cause: RemovalCause): boolean {
  return cause === 'retired' || cause === 'contract_ended_by_operator';
}

export function standingOf(facts: ReasonFacts, gracePeriods: GracePeriods): Standing {
  const ends = findEnds(facts).map((end) => withDueTime(end, gracePeriods));
  if (ends.length === 0 && canStand(facts)) return { stands: true };
  return { stands: false, ends: ends.sort(explicitThenDue) };
}

/** Explicit ends come first, because they may not wait, be taken over or be held. Then the earliest. */
export function explicitThenDue<End extends Pick<ReasonEnd, 'cause' | 'dueAt'>>(a: End, b: End): number {
  const outrightFirst = Number(isExplicit(b.cause)) - Number(isExplicit(a.cause));
  return outrightFirst || Date.parse(a.dueAt) - Date.parse(b.dueAt);
}

function canStand({ contract, link }: ReasonFacts): boolean {
  return statusOfContract(contract) !== 'unknown' && statusOfLink(link) !== 'unknown';
}

interface UndatedEnd extends Pick<ReasonEnd, 'cause' | 'since'> {
  /** Whether the link ended with its grant. The customer may create it again soon. */
  endedWithGrant?: boolean;
}

/** What is unknown has no end. */
export type KnownFacts = Pick<ReasonFacts, 'contract' | 'grants'> & {
  [Name in keyof ReasonFacts]: ReasonFacts[Name] | undefined;
};

/** All ends of a reason, in any order. */
export function findEnds({ contract, link, pair, participation, grants }: KnownFacts): UndatedEnd[] {
  const revoked = revokedGrant(grants);
  const ends = [
    contractEnd(contract),
    link && linkEnd(link, grants),
    pair && toEnd('contract_moved', movedSince(pair)),
    participation && toEnd('participation_left', leftSince(participation)),
    revoked && toEnd('grant_revoked', revoked.revokedReceivedAt ?? revoked.revokedEventAt),
  ];
  return ends.filter((end) => end != null);
}

function linkEnd(link: LinkRegisters, grants: readonly GrantEvidence[]): UndatedEnd | null {
  const status = statusOfLink(link);
  const isRemoved = status === 'removed';
  const since = isRemoved ? link.removedEventAt : absentSince(link);
  if (since === null) return null;
  const cause = isRemoved ? 'link_removed' : 'link_absent';
  return { cause, since, endedWithGrant: wentWithGrant(link, since, grants) };
}

function contractEnd(contract: ContractRegisters): UndatedEnd | null {
  if (statusOfContract(contract) !== 'ended') return null;
  const { endedEventAt, endedReadAt, endedByOperatorAt, reopenedAt } = contract;
  // A delivered end is the strongest, unless an operator took it back. It does not matter which came first.
  if (endedEventAt !== null && endedEventAt > (reopenedAt ?? '')) return toEnd('contract_ended', endedEventAt);
  if (endedReadAt !== null) return toEnd('contract_read_ended', endedReadAt);
  return toEnd('contract_ended_by_operator', endedByOperatorAt);
}

function toEnd(cause: RemovalCause, since: Instant | null): UndatedEnd | null {
  return since === null ? null : { cause, since };
}

function withDueTime(
  { cause, since, endedWithGrant = false }: UndatedEnd,
  { graceMs, revokedGraceMs }: GracePeriods,
): ReasonEnd {
  if (isExplicit(cause)) return { cause, since, dueAt: since, dueWithSuccessorAt: since };
  const after = (ms: number) => new Date(Date.parse(since) + ms).toISOString();
  const dueAt = after(endedWithGrant || cause === 'grant_revoked' ? revokedGraceMs : graceMs);
  if (cause !== 'link_removed' && cause !== 'link_absent') {
    return { cause, since, dueAt, dueWithSuccessorAt: dueAt };
  }
  // A project that is linked again at the end of this period gets another period.
  return { cause, since, dueAt, dueWithSuccessorAt: after(revokedGraceMs * (endedWithGrant ? 2 : 1)) };
}
