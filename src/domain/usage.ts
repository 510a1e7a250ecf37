/**
 * Work done, as it is seen and as it is reported (design section 5). A count that a source does not
 * have is null, which is not zero: absence lowers nothing.
 */

/** `2026-03-15`, in the zone of its link. */
export type Day = string;

export interface Counts {
  seconds: number | null;
  tasks: number | null;
  labels: number | null;
}

/** What the work was done on, as its source knows it. */
export type WorkedOn =
  /** What an adapter's `usageScopeFor` gives. */
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
  /** When the reading began that saw it, or the import was made. */
  seenAt: string;
  /** What its source calls the person, where it knows their work piece by piece. */
  memberId?: string;
  /** Whether a removal was begun since: what it is of is not to change any more. */
  isFrozen?: boolean;
  /** Whether some of it has gone or moved since then: its pieces do not tell whose it is. */
  isTorn?: boolean;
  /** Whether its source has said so and does not any more: nothing, in words, as absence is none. */
  isTakenBack?: boolean;
}

/** Of one day's work, what was done or grew at one instant; null where that is not known. */
export interface Moment {
  at: string | null;
  /** The task that was worked on, where a piece of it was done then. */
  taskId: string | null;
  seconds: number;
  labels: number;
}

/**
 * Of what was reported for a day: `answered` was taken; `in_doubt` has a request of which nobody
 * knows the end; `refused` waits for somebody to change something; `unsent` never got there.
 */
export type LedgerState = 'in_doubt' | 'answered' | 'refused' | 'unsent';

export const countNames = ['seconds', 'tasks', 'labels'] as const;

export const noCounts: Counts = { seconds: null, tasks: null, labels: null };

/** Counts that are made of others one by one. */
export function toCounts(countOf: (name: keyof Counts) => number | null): Counts {
  return { seconds: countOf('seconds'), tasks: countOf('tasks'), labels: countOf('labels') };
}

/** The same counts with nothing in them; what was never told of stays untold. */
export function toZeros(counts: Counts): Counts {
  return toCounts((name) => (counts[name] === null ? null : 0));
}

/** Null is no zero: what nobody has counted stays unknown. */
export function addCounts(a: Counts, b: Counts): Counts {
  return toCounts((name) => (a[name] === null ? b[name] : a[name] + (b[name] ?? 0)));
}

/** The greater of each; what only one has is kept. */
export function maxCounts(a: Counts, b: Counts): Counts {
  return toCounts((name) => (a[name] === null || b[name] === null ? (a[name] ?? b[name]) : Math.max(a[name], b[name])));
}

/** Whether any count of the one is less than what the other has of it. */
export function isLower(counts: Counts, than: Counts): boolean {
  return countNames.some((name) => {
    const [mine, other] = [counts[name], than[name]];
    return mine !== null && other !== null && mine < other;
  });
}
