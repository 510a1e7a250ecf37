import type { Instant } from './evidence.ts';
import { type GracePeriods, isByOperator, isExplicit, type RemovalCause } from './standing.ts';

/**
 * What a removal that is due waits for: that the marketplace was asked late enough for everything to
 * be known that may keep somebody in (design section 2, *Removing*, and section 4.5). Each wait has
 * an end: access falls then, whatever could not be asked.
 */

/** Access falls so long after an explicit end at the latest, whether or not its install was asked. */
export const longestLookMs = 30_000;

/** How far an install has been read, as far as a removal may wait for it. */
export interface InstallReadings {
  install: string;
  /** Nothing older counts before it has been read: after a silence, or in a restored database. */
  heldSince: Instant | null;
  /** No weaker evidence that is older counts before that: also after a shorter pause. */
  removalsHeldSince: Instant | null;
  /** When the last list of its active contracts began. */
  activeListedAt: Instant | null;
}

export interface DueEnd {
  cause: RemovalCause;
  /** Whose reason fell last. */
  install: string;
  /** When it was derived that they are to go. */
  derivedAt: Instant;
  dueAt: Instant;
  /** When it was first made to wait; null where it was not yet. */
  waitsSince: Instant | null;
}

/** An install that was ever a reason for the membership. */
export interface ReasonInstall extends InstallReadings {
  /** When the last of its contracts that were a reason was said outright to have ended. */
  endedAt: Instant | null;
  /** Not where it is no longer configured. */
  canBeAsked: boolean;
}

export interface ReadingWait {
  isOver: boolean;
  /** Installs whose active contracts are to be listed for it. */
  toList: string[];
}

/**
 * @param sources all that were ever a reason for the membership
 * @param others that may reach its group beside them
 */
export function findReadingWait(
  due: DueEnd,
  sources: readonly ReasonInstall[],
  others: readonly InstallReadings[],
  now: Instant,
  gracePeriods: GracePeriods,
): ReadingWait {
  // An operator's word stands by itself.
  if (isByOperator(due.cause)) return { isOver: true, toList: [] };
  const since = due.waitsSince ?? now;
  const own = sources.filter(({ install }) => install === due.install);
  const neighbours = [...sources.filter(({ install }) => install !== due.install), ...others];
  const isUnread = isExplicit(due.cause)
    ? own.some((one) => isOlder(one, due)) || neighbours.some((one) => mayHaveMissedHire(one, due))
    : [...own, ...neighbours].some((one) => isHeld(one, due, gracePeriods)) ||
      neighbours.some(({ heldSince }) => heldSince !== null);
  const look = isExplicit(due.cause)
    ? findLook(due, sources, neighbours, { since, now })
    : { isOver: true, toList: [] };
  const isReadingOver = !isUnread || msBetween(since, now) >= gracePeriods.revokedGraceMs;
  return { ...look, isOver: isReadingOver && look.isOver };
}

/** The start of a renewal may have been lost: what is active is looked at once, but not for long. */
function findLook(
  due: DueEnd,
  sources: readonly ReasonInstall[],
  neighbours: readonly InstallReadings[],
  { since, now }: { since: Instant; now: Instant },
): ReadingWait {
  // While nobody was here nobody could ask.
  const here = sources.map(({ removalsHeldSince }) => removalsHeldSince ?? since);
  if (msBetween(latestOf([since, ...here]), now) >= longestLookMs) {
    return { isOver: true, toList: [] };
  }
  const toList = sources.filter((one) => !wasListed(one, due)).map(({ install }) => install);
  const isAllRead = neighbours.every(({ heldSince }) => heldSince === null);
  return { isOver: toList.length === 0 && isAllRead, toList };
}

/** An end that was said before a silence, or is told by a restored database. */
function isOlder({ heldSince }: InstallReadings, { derivedAt }: DueEnd): boolean {
  return heldSince !== null && derivedAt < heldSince;
}

/**
 * Whether an install may have hired somebody unheard whom another lets go. What another was told
 * after that acts at once.
 */
function mayHaveMissedHire(other: InstallReadings, due: DueEnd): boolean {
  return other.heldSince !== null && (due.cause !== 'contract_ended' || isOlder(other, due));
}

/** Whether weaker evidence is older than what its install has been read after. */
function isHeld(
  { heldSince, removalsHeldSince }: InstallReadings,
  { derivedAt, dueAt }: DueEnd,
  { graceMs }: GracePeriods,
): boolean {
  const held = latestOf([heldSince ?? '', removalsHeldSince ?? '']);
  if (held === '') return false;
  // Also what was delivered before and taken in only after it.
  return derivedAt < held || msBetween(held, dueAt) <= graceMs;
}

/** Whether what is active was listed after all ends that took a reason away had been said. */
function wasListed(source: ReasonInstall, { install, cause, derivedAt, dueAt }: DueEnd): boolean {
  const { activeListedAt, endedAt, removalsHeldSince } = source;
  const own = source.install !== install ? endedAt : endKnownAt();
  if (own === null || !source.canBeAsked) return true;
  return activeListedAt !== null && activeListedAt >= latestOf([own, removalsHeldSince ?? '']);

  /** By our own clock where a delivery told it. A reading that shows an end lists what is active. */
  function endKnownAt(): Instant {
    return cause === 'contract_ended' ? derivedAt : dueAt;
  }
}

function latestOf(instants: readonly Instant[]): Instant {
  return instants.reduce((a, b) => (b > a ? b : a), '');
}

function msBetween(from: Instant, to: Instant): number {
  return Date.parse(to) - Date.parse(from);
}
