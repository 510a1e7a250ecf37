/**
 * Work as sources observe it, and as it is reported. A count that a source does not have is
 * null. Null is not zero: absence lowers nothing.
 */

/** A date like `2026-03-15`, in the time zone of the link. */
export type Day = string;

export interface Counts {
  seconds: number | null;
  tasks: number | null;
  labels: number | null;
}

/** What the work was done on, as its source knows it. */
export type WorkedOn =
  /** The work scope that an adapter's `usageScopeFor` names. */
  | { by: 'scope'; tool: string; scope: string }
  | { by: 'project'; install: string; externalProjectId: string }
  | { by: 'contract'; install: string; contractId: string };

/** All that one source has seen of one trainer's work on one project, scope or contract on one day. */
export interface Observation {
  /** `tool:<name>`, or `import:<id>`. */
  source: string;
  workedOn: WorkedOn;
  trainerId: string;
  day: Day;
  counts: Counts;
  /** When the reading began, or the import was made. */
  seenAt: string;
  /** The source's id of the trainer, if the source lists single pieces of work. */
  memberId?: string;
  /** Whether the trainer's removal has begun since. From then on the contract of this work must not change. */
  isFrozen?: boolean;
  /** Whether pieces were deleted or moved since then. The pieces no longer show whose work it is. */
  isTorn?: boolean;
  /** Whether it is the part of a running total that may be from before the contract. */
  isFirstTotal?: boolean;
  /** Whether the source has withdrawn it explicitly. A missing observation withdraws nothing. */
  isTakenBack?: boolean;
}

/** The part of a day's work that was done at one instant; null if the instant is unknown. */
export interface Moment {
  at: string;
  /** The task, if a piece of it was done then. */
  taskId: string | null;
  seconds: number;
  labels: number;
}

/**
 * The state of a day's report. `answered`: the marketplace took it. `in_doubt`: the outcome of a request is unknown.
 * `refused`: it waits until something is changed. `unsent`: no request has arrived.
 */
export type LedgerState = 'in_doubt' | 'answered' | 'refused' | 'unsent';

export const countNames = ['seconds', 'tasks', 'labels'] as const;

export const noCounts: Counts = { seconds: null, tasks: null, labels: null };

/** Builds counts from one value for each name. */
export function toCounts(countOf: (name: keyof Counts) => number | null): Counts {
  return { seconds: countOf('seconds'), tasks: countOf('tasks'), labels: countOf('labels') };
}

/** The same counts at zero. Unknown counts stay unknown. */
export function toZeros(counts: Counts): Counts {
  return toCounts((name) => (counts[name] === null ? null : 0));
}

/** Adds counts. Null is not zero: a count that neither has stays unknown. */
export function addCounts(a: Counts, b: Counts): Counts {
  return toCounts((name) => (a[name] === null ? b[name] : a[name] + (b[name] ?? 0)));
}

export function sumCounts(all: readonly Counts[]): Counts {
  return all.reduce(addCounts, noCounts);
}

/** Whether no count is known to be more or less than zero. */
export function isNothing(counts: Counts): boolean {
  return countNames.every((name) => !counts[name]);
}

/** The greater of each count. A count that only one has is kept. */
export function maxCounts(a: Counts, b: Counts): Counts {
  return toCounts((name) => (a[name] === null || b[name] === null ? (a[name] ?? b[name]) : Math.max(a[name], b[name])));
}

/** Whether any count is lower than the other's. */
export function isLower(counts: Counts, than: Counts): boolean {
  return countNames.some((name) => {
    const [mine, other] = [counts[name], than[name]];
    return mine !== null && other !== null && mine < other;
  });
}

/** Why work is not reported before an operator decides. */
export type HeldReason =
  | 'no_contract'
  | 'before_start'
  | 'after_end'
  | 'several_contracts'
  /** Several contracts share the day, and what was deleted or moved hides which of them the rest is of. */
  | 'unknown_instants'
  /** A running total that was seen for the first time, and how much of it is from before the contract is unknown. */
  | 'first_total'
  | 'two_sources'
  | 'over_a_day'
  | 'negative';
