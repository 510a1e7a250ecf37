/** A date like `2026-03-15`, in the time zone of the link. */
export type Day = string;

/** A count that a source does not have is null. Null is not zero: absence lowers nothing. */
export interface Counts {
  seconds: number | null;
  tasks: number | null;
  labels: number | null;
}

/** What the work was done on, as the source knows it. */
export type WorkedOn =
  /** The work scope that an adapter's `usageScopeFor` names. */
  | { by: 'scope'; tool: string; scope: string }
  | { by: 'project'; install: string; externalProjectId: string }
  | { by: 'contract'; install: string; contractId: string };

/** One trainer's work on one project, scope or contract on one day, as one source has seen it. */
export interface Observation {
  /** `tool:<name>`, or `import:<id>`. */
  source: string;
  workedOn: WorkedOn;
  trainerId: string;
  day: Day;
  counts: Counts;
  /** When the reading began, or the import was made. */
  seenAt: string;
  /** The source's id of the trainer, if the source lists pieces of work. */
  memberId?: string;
  /** Whether the trainer's removal has begun since, so that the contract of this work must not change. */
  isFrozen?: boolean;
  /** Whether pieces were deleted or moved since then, so that they no longer show whose work it is. */
  isTorn?: boolean;
  /** Whether it is a part of a running total that may be from before the contract. */
  isFirstTotal?: boolean;
  /** Whether the source has withdrawn it. A missing observation withdraws nothing. */
  isTakenBack?: boolean;
}

/** The part of a day's work that was done at one instant. */
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

export function toCounts(countOf: (name: keyof Counts) => number | null): Counts {
  return { seconds: countOf('seconds'), tasks: countOf('tasks'), labels: countOf('labels') };
}

/** Zero for each known count. */
export function toZeros(counts: Counts): Counts {
  return toCounts((name) => (counts[name] === null ? null : 0));
}

/** A count that neither has stays unknown. */
export function addCounts(a: Counts, b: Counts): Counts {
  return toCounts((name) => (a[name] === null ? b[name] : a[name] + (b[name] ?? 0)));
}

export function sumCounts(all: readonly Counts[]): Counts {
  return all.reduce(addCounts, noCounts);
}

/** Whether every count is unknown or zero. */
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
  /** Several contracts share the day, and work was deleted or moved, so nobody knows which of them the rest belongs to. */
  | 'unknown_instants'
  /** A running total was seen for the first time, and nobody knows how much of it is from before the contract. */
  | 'first_total'
  | 'two_sources'
  | 'over_a_day'
  | 'negative';
