import type { Instant } from './evidence.ts';
import { type GracePeriods, isByOperator, isExplicit, type RemovalCause } from './standing.ts';

/**
 * How a removal that is due waits for the marketplace: it must have been asked late enough that Gangway knows
 * everything that may keep the trainer in (docs/rules.md, Removing). First, after a pause, for a
 * reading of its installs. Last, when nothing else is waited for, for a list of their active contracts. Each wait has
 * an end. After it the trainer is removed, even if the marketplace could not be asked.
 */

/** The longest that a removal after an explicit end waits for a list of active contracts. */
export const longestLookMs = 30_000;

/** How far an install has been read. Removals wait for this. */
export interface InstallReadings {
  install: string;
  /**
   * Evidence before this instant does not count until the install has been read again. Set after a silence and in a
   * restored database.
   */
  heldSince: Instant | null;
  /** The same for weaker evidence only. It is also set after a pause that is too short to be a silence. */
  removalsHeldSince: Instant | null;
  /** When the last list of its active contracts began. */
  activeListedAt: Instant | null;
}

export interface DueEnd {
  cause: RemovalCause;
  /** The install whose reason ended last. */
  install: string;
  /** When Gangway decided that the trainer must be removed. */
  derivedAt: Instant;
  dueAt: Instant;
  /** When the removal began to wait for the marketplace; null if it has not waited yet. */
  waitsSince: Instant | null;
  /** Whether an operator approved the removal; then `derivedAt` is when. */
  isApproved?: boolean | undefined;
}

/** An end for which nothing else is waited for any more. */
export interface AskedEnd extends DueEnd {
  /** When it began to wait for lists; null if it has not yet. */
  listsWaitedSince: Instant | null;
  /** Whether it waited for something else before. */
  hasWaited: boolean;
}

/** An install that has, or had, a reason for the membership. */
export interface ReasonInstall extends InstallReadings {
  /** The latest explicit end among its contracts that were a reason. */
  endedAt: Instant | null;
  /** False if the install is no longer configured. */
  canBeAsked: boolean;
}

export interface ListWait {
  isOver: boolean;
  /** Installs whose active contracts must be listed before this removal. */
  toList: string[];
}

/**
 * Whether a removal need not wait (any longer) for what was not read since a pause.
 *
 * @param sources all installs that have, or had, a reason for the membership
 * @param others other installs whose trainers may be in the same group
 */
export function isReadingOver(
  due: DueEnd,
  sources: readonly ReasonInstall[],
  others: readonly InstallReadings[],
  now: Instant,
  gracePeriods: GracePeriods,
): boolean {
  if (isDecided(due, [...sources, ...others])) return true;
  const { own, neighbours } = partInstalls(due, sources, others);
  const isUnread = isExplicit(due.cause)
    ? own.some((one) => isOlder(one, due)) || neighbours.some((one) => mayHaveMissedHire(one, due))
    : [...own, ...neighbours].some((one) => isHeld(one, due, gracePeriods)) ||
      neighbours.some(({ heldSince }) => heldSince !== null);
  return !isUnread || msBetween(due.waitsSince ?? now, now) >= gracePeriods.revokedGraceMs;
}

/**
 * Whether a removal waits for lists, and for which. The event that starts a renewal may be lost, so active contracts
 * are listed once, but not for long.
 *
 * @param sources all installs that have, or had, a reason for the membership
 * @param others other installs whose trainers may be in the same group
 */
export function findListWait(
  due: AskedEnd,
  sources: readonly ReasonInstall[],
  others: readonly InstallReadings[],
  now: Instant,
): ListWait {
  if (isDecided(due, [...sources, ...others]) || !isExplicit(due.cause)) return { isOver: true, toList: [] };
  const since = due.listsWaitedSince ?? now;
  // During a silence no instance could ask, so the time counts from its end.
  const here = sources.map(({ removalsHeldSince }) => removalsHeldSince ?? since);
  if (msBetween(latestOf([since, ...here]), now) >= longestLookMs) return { isOver: true, toList: [] };
  // A contract that began during another wait must be in the list.
  const countsFrom = due.hasWaited ? since : null;
  const toList = sources.filter((one) => !wasListed(one, due, countsFrom)).map(({ install }) => install);
  const { neighbours } = partInstalls(due, sources, others);
  const isAllRead = neighbours.every(({ heldSince }) => heldSince === null);
  return { isOver: toList.length === 0 && isAllRead, toList };
}

function partInstalls(
  { install }: DueEnd,
  sources: readonly ReasonInstall[],
  others: readonly InstallReadings[],
): { own: InstallReadings[]; neighbours: InstallReadings[] } {
  const own = sources.filter((one) => one.install === install);
  return { own, neighbours: [...sources.filter((one) => one.install !== install), ...others] };
}

/** An operator's decision needs no confirmation, unless there was a pause after an approval. */
function isDecided({ cause, isApproved, derivedAt }: DueEnd, installs: readonly InstallReadings[]): boolean {
  if (isByOperator(cause)) return true;
  const paused = installs.flatMap(({ heldSince, removalsHeldSince }) => [heldSince ?? '', removalsHeldSince ?? '']);
  return isApproved === true && derivedAt >= latestOf(paused);
}

/** The end is older than a silence, or comes from a restored database. */
function isOlder({ heldSince }: InstallReadings, { derivedAt }: DueEnd): boolean {
  return heldSince !== null && derivedAt < heldSince;
}

/**
 * Whether an install may have missed the hire of a trainer when another install ends its reason. An end that the other
 * install delivered after the silence acts at once.
 */
function mayHaveMissedHire(other: InstallReadings, due: DueEnd): boolean {
  return other.heldSince !== null && (due.cause !== 'contract_ended' || isOlder(other, due));
}

/** Whether weaker evidence is older than the last full reading of its install. */
function isHeld(
  { heldSince, removalsHeldSince }: InstallReadings,
  { derivedAt, dueAt }: DueEnd,
  { graceMs }: GracePeriods,
): boolean {
  const held = latestOf([heldSince ?? '', removalsHeldSince ?? '']);
  if (held === '') return false;
  // This includes evidence that was delivered before the pause and taken in after it.
  return derivedAt < held || msBetween(held, dueAt) <= graceMs;
}

/** Whether active contracts were listed after the last end that took a reason away, and not before `countsFrom`. */
function wasListed(
  source: ReasonInstall,
  { install, cause, derivedAt, dueAt }: DueEnd,
  countsFrom: Instant | null,
): boolean {
  const { activeListedAt, endedAt, removalsHeldSince } = source;
  const own = source.install !== install ? endedAt : endKnownAt();
  if (own === null || !source.canBeAsked) return true;
  return activeListedAt !== null && activeListedAt >= latestOf([own, removalsHeldSince ?? '', countsFrom ?? '']);

  /** For a delivered end this is our own clock. A reading that shows an end has listed the active contracts itself. */
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
