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
 * Whether one reason to be in a group stands, and where it does not: since when, by what, and when
 * access may fall by it (design section 2, *Removing*).
 */

/**
 * Why somebody is to be taken out. The first three are said outright and act at once (`retired`
 * too: an operator's word); everything else is weaker and waits. `found_again` is somebody whom we
 * had removed: a listing alone shows them, and so it waits and is counted by the brake like all that
 * is weaker, though what ended may have been said outright.
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
 * Why somebody is to be taken out, for people: goes behind “because”.
 *
 * @param cause also one that only another version of Gangway knows, as it stands in the database
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
  participation_left: 'they are no longer on the contract',
  grant_revoked: 'the customer has disconnected',
  found_again: 'they were removed before, and are there again',
  retired: 'an operator retired them',
};

const causeWords = new Map<string, string>(Object.entries(wordsOfCauses));

export interface ReasonEnd {
  cause: RemovalCause;
  since: Instant;
  /** When access may fall by it. */
  dueAt: Instant;
  /** The same, while another link is about to take over: until that was read, but not for ever. */
  dueWithSuccessorAt: Instant;
}

/**
 * In how many ways it fell, what acts first before the others: none where it cannot have been the
 * reason for anything yet.
 */
export type Standing = { stands: true } | { stands: false; ends: readonly ReasonEnd[] };

export interface ReasonFacts {
  contract: ContractRegisters;
  link: LinkRegisters;
  pair: Pick<PairEvidence, 'omissions' | 'namedAt'>;
  participation: Pick<ParticipationEvidence, 'absences' | 'seenAt'>;
  /** All that its install ever had. */
  grants: readonly GrantEvidence[];
}

export interface GracePeriods {
  graceMs: number;
  revokedGraceMs: number;
}

/** What is said outright, and by whom a removal may be asked for that nobody has to confirm. */
export function isExplicit(cause: RemovalCause): boolean {
  return explicitCauses.has(cause);
}

const explicitCauses: ReadonlySet<RemovalCause> = new Set([
  'contract_ended',
  'contract_read_ended',
  'contract_ended_by_operator',
  'retired',
]);

/** What may be wrong by itself, and waits for a grace. */
export const weakerCauses: readonly RemovalCause[] = removalCauses.filter((cause) => !isExplicit(cause));

/** What an operator said, which nothing has to confirm. */
export function isByOperator(cause: RemovalCause): boolean {
  return cause === 'retired' || cause === 'contract_ended_by_operator';
}

export function standingOf(facts: ReasonFacts, gracePeriods: GracePeriods): Standing {
  const ends = endsOf(facts).map((end) => withDueTime(end, gracePeriods));
  if (ends.length === 0 && canStand(facts)) return { stands: true };
  return { stands: false, ends: ends.sort(explicitThenDue) };
}

/** What is weaker may be waited for, taken over or held; an end that was said outright is not. */
export function explicitThenDue<Way extends Pick<ReasonEnd, 'cause' | 'dueAt'>>(a: Way, b: Way): number {
  const outrightFirst = Number(isExplicit(b.cause)) - Number(isExplicit(a.cause));
  return outrightFirst || Date.parse(a.dueAt) - Date.parse(b.dueAt);
}

function canStand({ contract, link }: ReasonFacts): boolean {
  return statusOfContract(contract) !== 'unknown' && statusOfLink(link) !== 'unknown';
}

interface UndatedEnd extends Pick<ReasonEnd, 'cause' | 'since'> {
  /** Whether it is of a link that went with its grant, and may be about to be made again. */
  isWithGrant?: boolean;
}

function endsOf({ contract, link, pair, participation, grants }: ReasonFacts): UndatedEnd[] {
  const revoked = revokedGrant(grants);
  const ends: (UndatedEnd | null)[] = [
    contractEnd(contract),
    linkEnd(link, grants),
    toEnd('contract_moved', movedSince(pair)),
    toEnd('participation_left', leftSince(participation)),
    revoked && toEnd('grant_revoked', revoked.revokedReceivedAt ?? revoked.revokedEventAt),
  ];
  return ends.filter((end) => end !== null);
}

function linkEnd(link: LinkRegisters, grants: readonly GrantEvidence[]): UndatedEnd | null {
  const status = statusOfLink(link);
  const isRemoved = status === 'removed';
  const since = isRemoved ? link.removedEventAt : absentSince(link);
  if (since === null) return null;
  const cause = isRemoved ? 'link_removed' : 'link_absent';
  return { cause, since, isWithGrant: wentWithGrant(link, since, grants) };
}

function contractEnd(contract: ContractRegisters): UndatedEnd | null {
  if (statusOfContract(contract) !== 'ended') return null;
  const { endedEventAt, endedReadAt, endedByOperatorAt } = contract;
  // An end that was delivered is the one that says most; who said it first does not matter.
  if (endedEventAt !== null) return toEnd('contract_ended', endedEventAt);
  if (endedReadAt !== null) return toEnd('contract_read_ended', endedReadAt);
  return toEnd('contract_ended_by_operator', endedByOperatorAt);
}

function toEnd(cause: RemovalCause, since: Instant | null): UndatedEnd | null {
  return since === null ? null : { cause, since };
}

function withDueTime(
  { cause, since, isWithGrant = false }: UndatedEnd,
  { graceMs, revokedGraceMs }: GracePeriods,
): ReasonEnd {
  if (isExplicit(cause)) return { cause, since, dueAt: since, dueWithSuccessorAt: since };
  const after = (ms: number) => new Date(Date.parse(since) + ms).toISOString();
  const dueAt = after(isWithGrant || cause === 'grant_revoked' ? revokedGraceMs : graceMs);
  if (cause !== 'link_removed' && cause !== 'link_absent') {
    return { cause, since, dueAt, dueWithSuccessorAt: dueAt };
  }
  // One that is linked again at the end of its day has as long again.
  return { cause, since, dueAt, dueWithSuccessorAt: after(revokedGraceMs * (isWithGrant ? 2 : 1)) };
}
