import type { Instant } from './evidence.ts';
import { type GracePeriods, isByOperator, isExplicit, type RemovalCause } from './standing.ts';

/**
 * The stages of the one gate for removals: what must be read before a due removal, so that Gangway knows everything that may
 * keep the trainer in (docs/rules.md, Removing). They follow each other. After the deadline of a stage the removal goes on,
 * even if nothing could be read.
 *
 * - `installs`: after a pause, a silence or a restore, the installs are read again.
 * - `work`: the trainer's work is read a last time.
 * - `lists`: the active contracts are listed, because the event that starts a renewal may be lost.
 */
export type Stage = 'installs' | 'work' | 'lists';

/** The longest that a removal after an explicit end waits for a list of active contracts. */
export const longestLookMs = 30_000;
const longestWorkMs = 5 * 60_000;

/** How far an install has been read. */
export interface InstallReadings {
  install: string;
  /** Until the install is read again, earlier evidence does not count. Set after a silence and in a restored database. */
  heldSince: Instant | null;
  /** The same for weaker evidence only, and never earlier. Also set after a pause that is too short to be a silence. */
  removalsHeldSince: Instant | null;
  /** When the last list of its active contracts began. */
  activeListedAt: Instant | null;
}

/** An install that has, or had, a reason for the membership. */
export interface ReasonInstall extends InstallReadings {
  /** The latest explicit end of its contracts that were a reason. */
  endedAt: Instant | null;
  /** Whether the install is still configured. */
  canBeAsked: boolean;
}

/** How far the work in a scope has been read. */
export interface ScopeReadings {
  scope: string;
  readBeganAt: Instant | null;
  /** When a refused reading began. Another one would be refused too. */
  refusedAt: Instant | null;
}

export interface DueEnd {
  cause: RemovalCause;
  /** The install whose reason ended last. */
  install: string;
  /** When Gangway decided to remove the trainer. */
  derivedAt: Instant;
  dueAt: Instant;
  /** Whether an operator approved the removal, at `derivedAt`. */
  isApproved?: boolean;
  /** Since when the removal waits, or has waited, at each stage; null if it has not. */
  waits: Waits;
}

export type Waits = Record<`${Stage}Since`, Instant | null>;

export interface ReadingFacts {
  /** The installs that have, or had, a reason for the membership. */
  sources: readonly ReasonInstall[];
  /** Other installs whose trainers may be in the same group. */
  others: readonly InstallReadings[];
  /** Where the trainer may have worked, unless the last reading was so late that no later work counts. */
  scopes: readonly ScopeReadings[];
}

export interface Reading {
  kind: 'install' | 'work' | 'active_list';
  /** The install or the work scope. */
  of: string;
  /** The reading must have begun then or later. */
  since: Instant;
}

/** What a removal waits for. */
export interface RequiredReadings {
  stage: Stage;
  /** Since when it waits at this stage. */
  waitsSince: Instant;
  readings: Reading[];
  /** When the removal goes on, even if they have not been read. */
  deadline: Instant;
}

/**
 * `decided`: an operator decided, and there was no pause after an approval. `delivered`: an event said that it ended.
 * `listed`: a reading said so. `weak`: everything else.
 */
type EndKind = 'decided' | 'delivered' | 'listed' | 'weak';

/** Since when a reading of the install is required; null if none is. */
type ReadSince = (install: InstallReadings, end: DueEnd, gracePeriods: GracePeriods) => Instant | null;

interface Rule {
  /** For the install whose reason ended last. */
  own: ReadSince;
  /** For every other install that may have hired the trainer. */
  neighbour: ReadSince;
  needsLists: boolean;
}

const never: ReadSince = () => null;
const afterSilence: ReadSince = ({ heldSince }) => heldSince;

/** The end is older than a silence, or comes from a restored database. */
const ifOlderThanSilence: ReadSince = ({ heldSince }, { derivedAt }) =>
  heldSince !== null && derivedAt < heldSince ? heldSince : null;

/** The end is older than a pause, or became due so soon after it that the grace period was not watched. */
const ifNearPause: ReadSince = ({ removalsHeldSince: pause }, { derivedAt, dueAt }, { graceMs }) => {
  if (pause === null) return null;
  // This includes evidence that was delivered before the pause and handled after it.
  return derivedAt < pause || dueAt <= after(pause, graceMs) ? pause : null;
};

const rules: Record<EndKind, Rule> = {
  decided: { own: never, neighbour: never, needsLists: false },
  delivered: { own: ifOlderThanSilence, neighbour: ifOlderThanSilence, needsLists: true },
  listed: { own: ifOlderThanSilence, neighbour: afterSilence, needsLists: true },
  weak: {
    own: ifNearPause,
    neighbour: (...asked) => ifNearPause(...asked) ?? afterSilence(...asked),
    needsLists: false,
  },
};

/** @returns what the removal waits for now; null if it need not wait */
export function requiredReadings(
  end: DueEnd,
  facts: ReadingFacts,
  now: Instant,
  gracePeriods: GracePeriods,
): RequiredReadings | null {
  const rule = rules[kindOf(end, facts)];
  const stages = [
    requireInstalls(rule, end, facts, now, gracePeriods),
    requireWork(end, facts, now),
    ...(rule.needsLists ? [requireLists(end, facts, now)] : []),
  ];
  return stages.find(({ readings, deadline }) => readings.length > 0 && now < deadline) ?? null;
}

/** The rest of a sentence that begins with “to be removed”. */
export function describeRequired({ readings, deadline }: RequiredReadings): string {
  const all = readings.map(({ kind, of }) => describeReading[kind](of));
  return `once ${all.join(' and ')}, at ${deadline} at the latest`;
}

const describeReading: Record<Reading['kind'], (of: string) => string> = {
  install: (install) => `${install} has been read`,
  work: (scope) => `their work in ${scope} has been read`,
  active_list: (install) => `the active contracts of ${install} have been listed`,
};

function kindOf({ cause, isApproved, derivedAt }: DueEnd, { sources, others }: ReadingFacts): EndKind {
  const pauses = [...sources, ...others].map(({ removalsHeldSince }) => removalsHeldSince);
  if (isByOperator(cause) || (isApproved === true && derivedAt >= latestOf(pauses))) return 'decided';
  if (cause === 'contract_ended') return 'delivered';
  return isExplicit(cause) ? 'listed' : 'weak';
}

function requireInstalls(
  { own, neighbour }: Rule,
  end: DueEnd,
  { sources, others }: ReadingFacts,
  now: Instant,
  gracePeriods: GracePeriods,
): RequiredReadings {
  const readings = [...sources, ...others].flatMap((one) => {
    const since = (one.install === end.install ? own : neighbour)(one, end, gracePeriods);
    return since === null ? [] : [{ kind: 'install' as const, of: one.install, since }];
  });
  const waitsSince = end.waits.installsSince ?? end.waits.listsSince ?? now;
  return { stage: 'installs', waitsSince, readings, deadline: after(waitsSince, gracePeriods.revokedGraceMs) };
}

function requireWork({ waits: { workSince } }: DueEnd, { scopes }: ReadingFacts, now: Instant): RequiredReadings {
  const waitsSince = workSince ?? now;
  const isMet = (at: Instant | null) => workSince !== null && at !== null && at >= workSince;
  const unread = scopes.filter(({ readBeganAt }) => !isMet(readBeganAt));
  const isRefused = unread.every(({ refusedAt }) => isMet(refusedAt));
  const readings = unread.map(({ scope }) => ({ kind: 'work' as const, of: scope, since: waitsSince }));
  return { stage: 'work', waitsSince, readings: isRefused ? [] : readings, deadline: after(waitsSince, longestWorkMs) };
}

function requireLists(end: DueEnd, { sources, others }: ReadingFacts, now: Instant): RequiredReadings {
  const { installsSince, workSince, listsSince } = end.waits;
  const waitsSince = listsSince ?? now;
  // The list must have the contracts that began during an earlier wait.
  const hasWaited = installsSince !== null || workSince !== null;
  const lists = sources.flatMap((source) => {
    const { install, activeListedAt, removalsHeldSince } = source;
    const endKnownAt = endKnown(source, end);
    if (endKnownAt === null || !source.canBeAsked) return [];
    const since = latestOf([endKnownAt, removalsHeldSince, hasWaited ? waitsSince : null]);
    const isListed = activeListedAt !== null && activeListedAt >= since;
    return isListed ? [] : [{ kind: 'active_list' as const, of: install, since }];
  });
  const neighbours = [...sources, ...others].flatMap(({ install, heldSince }) =>
    install === end.install || heldSince === null ? [] : [{ kind: 'install' as const, of: install, since: heldSince }],
  );
  // No instance could ask during a silence, so the time counts from its end.
  const askedSince = latestOf([waitsSince, ...sources.map(({ removalsHeldSince }) => removalsHeldSince)]);
  return {
    stage: 'lists',
    waitsSince,
    readings: [...lists, ...neighbours],
    deadline: after(askedSince, longestLookMs),
  };
}

/**
 * When the end of this install's reason was known; null if none of its reasons ended explicitly. For a delivered end, this is
 * by our own clock. A reading that shows an end has listed the active contracts itself.
 */
function endKnown({ install, endedAt }: ReasonInstall, end: DueEnd): Instant | null {
  if (install !== end.install) return endedAt;
  return end.cause === 'contract_ended' ? end.derivedAt : end.dueAt;
}

/** Empty if there is none. */
function latestOf(instants: readonly (Instant | null)[]): Instant {
  return instants.reduce<Instant>((latest, at) => (at !== null && at > latest ? at : latest), '');
}

function after(instant: Instant, ms: number): Instant {
  return new Date(Date.parse(instant) + ms).toISOString();
}
