import type { GrantEvidence, Instant, ParticipationEvidence } from './evidence.ts';
import {
  absentSince,
  type ContractRegisters,
  eliminatedSince,
  type LinkRegisters,
  leftSince,
  revokedGrant,
  statusOfContract,
  statusOfLink,
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
  'contract_eliminated',
  'link_removed',
  'link_absent',
  'participation_left',
  'grant_revoked',
  'found_again',
  'retired',
] as const;

export type RemovalCause = (typeof removalCauses)[number];

/** Why somebody is to be taken out, for people: goes behind “because”. */
export function sayCause(cause: RemovalCause): string {
  return causeWords[cause];
}

const causeWords: Record<RemovalCause, string> = {
  contract_ended: 'the contract has ended',
  contract_read_ended: 'the contract is listed as ended',
  contract_ended_by_operator: 'an operator ended the contract',
  contract_eliminated: 'the contract is no longer listed',
  link_removed: 'the link to the project was removed',
  link_absent: 'the link to the project is no longer listed',
  participation_left: 'they are no longer on the contract',
  grant_revoked: 'the customer has disconnected',
  found_again: 'they were removed before, and are there again',
  retired: 'an operator retired them',
};

export interface Fall {
  cause: RemovalCause;
  since: Instant;
  /** When access may fall by it. */
  dueAt: Instant;
  /** The same, while another link is about to take over: until that was read, but not for ever. */
  dueWithHeirAt: Instant;
}

/**
 * In how many ways it fell, what acts first before the others: none where it cannot have been the
 * reason for anything yet.
 */
export type Standing = { stands: true } | { stands: false; falls: readonly Fall[] };

export interface ReasonFacts {
  contract: ContractRegisters;
  link: LinkRegisters;
  participation: Pick<ParticipationEvidence, 'absences' | 'seenAt'>;
  /** All that its install ever had. */
  grants: readonly GrantEvidence[];
}

export interface Graces {
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
export const weakerCauses: readonly RemovalCause[] = removalCauses.filter(
  (cause) => !isExplicit(cause),
);

/** What an operator said, which nothing has to confirm. */
export function isAskedFor(cause: RemovalCause): boolean {
  return cause === 'retired' || cause === 'contract_ended_by_operator';
}

export function standingOf(facts: ReasonFacts, graces: Graces): Standing {
  const falls = fallsOf(facts).map((fall) => withDue(fall, graces));
  if (falls.length === 0 && canStand(facts)) return { stands: true };
  return { stands: false, falls: falls.sort(byActing) };
}

/** What is weaker may be waited for, taken over or held; an end that was said outright is not. */
export function byActing<Way extends Pick<Fall, 'cause' | 'dueAt'>>(a: Way, b: Way): number {
  const outrightFirst = Number(isExplicit(b.cause)) - Number(isExplicit(a.cause));
  return outrightFirst || Date.parse(a.dueAt) - Date.parse(b.dueAt);
}

function canStand({ contract, link }: ReasonFacts): boolean {
  return statusOfContract(contract) !== 'unknown' && statusOfLink(link) !== 'unknown';
}

type RawFall = Pick<Fall, 'cause' | 'since'>;

function fallsOf({ contract, link, participation, grants }: ReasonFacts): RawFall[] {
  const revoked = revokedGrant(grants);
  const status = statusOfLink(link);
  const falls: (RawFall | null)[] = [
    contractFall(contract),
    status === 'removed' ? toFall('link_removed', link.removedEventAt) : null,
    status === 'absent' ? toFall('link_absent', absentSince(link)) : null,
    toFall('participation_left', leftSince(participation)),
    revoked && toFall('grant_revoked', revoked.revokedReceivedAt ?? revoked.revokedEventAt),
  ];
  return falls.filter((fall) => fall !== null);
}

function contractFall(contract: ContractRegisters): RawFall | null {
  const status = statusOfContract(contract);
  if (status === 'eliminated') return toFall('contract_eliminated', eliminatedSince(contract));
  if (status !== 'ended') return null;
  const { endedEventAt, endedReadAt, endedByOperatorAt } = contract;
  // An end that was delivered is the one that says most; who said it first does not matter.
  if (endedEventAt !== null) return toFall('contract_ended', endedEventAt);
  if (endedReadAt !== null) return toFall('contract_read_ended', endedReadAt);
  return toFall('contract_ended_by_operator', endedByOperatorAt);
}

function toFall(cause: RemovalCause, since: Instant | null): RawFall | null {
  return since === null ? null : { cause, since };
}

function withDue({ cause, since }: RawFall, { graceMs, revokedGraceMs }: Graces): Fall {
  if (isExplicit(cause)) return { cause, since, dueAt: since, dueWithHeirAt: since };
  const after = (ms: number) => new Date(Date.parse(since) + ms).toISOString();
  const dueAt = after(cause === 'grant_revoked' ? revokedGraceMs : graceMs);
  const isOfLink = cause === 'link_removed' || cause === 'link_absent';
  return { cause, since, dueAt, dueWithHeirAt: isOfLink ? after(revokedGraceMs) : dueAt };
}
