/** One reconciliation of an install: why it was made, and what came of it. */

export type RunTrigger = 'schedule' | 'event' | 'silence' | 'command';

/**
 * `clean`: nothing had to be done; `applied`: it was done; `pending`: it would be done, which only a
 * dry run says, instead of `applied`; `held`: removals wait for somebody to decide; `failed`: the install could not be
 * read, a tool refuses something, or not all was done in time.
 */
export type RunOutcome = 'clean' | 'applied' | 'pending' | 'held' | 'failed';

/** Of the memberships of one install. */
export interface RunNumbers {
  added: number;
  removed: number;
  /** What waits in plans that nobody has decided yet. */
  held: number;
  /** What a tool refuses, or could not do. */
  failed: number;
}

/** @param left what is due and was not done */
export function outcomeOfRun({ added, removed, held, failed }: RunNumbers, left: number): RunOutcome {
  if (failed + left > 0) return 'failed';
  if (held > 0) return 'held';
  return added + removed > 0 ? 'applied' : 'clean';
}

const exitStatuses = { clean: 0, applied: 0, failed: 1, pending: 2, held: 3 } as const;

export type RunExit = (typeof exitStatuses)[RunOutcome];

/** Of several: what failed comes before what is held, and that before what is only pending. */
export function exitStatusOf(outcomes: readonly RunOutcome[]): RunExit {
  const seen = new Set(outcomes.map((outcome) => exitStatuses[outcome]));
  return ([1, 3, 2] as const).find((status) => seen.has(status)) ?? 0;
}
