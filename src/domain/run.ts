/**
 * Why a reconciliation of an install runs. `command`: for a command, which waits for it and ends the run. `operator`: an
 * operator asked a running instance.
 */
export const runTriggers = ['schedule', 'event', 'silence', 'command', 'operator'] as const;

export type RunTrigger = (typeof runTriggers)[number];

/**
 * `clean`: nothing was due. `applied`: everything due was done. `pending`: a dry run found something to do. `held`:
 * removals wait for a decision. `failed`: the install could not be read, a tool refused something, or the time was too short.
 */
export type RunOutcome = 'clean' | 'applied' | 'pending' | 'held' | 'failed';

/** Counts memberships of one install. */
export interface RunNumbers {
  added: number;
  removed: number;
  /** Removals in plans that are still open. */
  held: number;
  /** Calls that a tool refused or that failed. */
  failed: number;
}

/** @param left how much of what is due was not done */
export function outcomeOfRun({ added, removed, held, failed }: RunNumbers, left: number): RunOutcome {
  if (failed + left > 0) return 'failed';
  if (held > 0) return 'held';
  return added + removed > 0 ? 'applied' : 'clean';
}

const exitStatuses = { clean: 0, applied: 0, failed: 1, pending: 2, held: 3 } as const;

export type RunExit = (typeof exitStatuses)[RunOutcome];

/** The exit status of several runs: failed before held, held before pending. */
export function exitStatusOf(outcomes: readonly RunOutcome[]): RunExit {
  const seen = new Set(outcomes.map((outcome) => exitStatuses[outcome]));
  return ([1, 3, 2] as const).find((status) => seen.has(status)) ?? 0;
}
