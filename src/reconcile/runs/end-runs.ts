import { toInstant } from '../../lib/clock.ts';
import type { ReconcileDeps } from './reconcile-install.ts';
import type { OpenRun } from './run-store.ts';

/** After this long, what is not done counts as left over. */
const workMs = 60_000;
/** Whoever began it, and then neither read nor gave up, is gone. */
const readMs = 15 * 60_000;
/** A command ends its own, unless it was cut off. */
const commandMs = 60 * 60_000;

/** Writes down what came of the runs whose work is done by now, or was not done in time. */
export async function endRuns(deps: Pick<ReconcileDeps, 'runs' | 'memberships' | 'clock'>): Promise<void> {
  for (const run of await deps.runs.listOpen()) await endRun(deps, run);
}

async function endRun(
  { runs, memberships, clock }: Parameters<typeof endRuns>[0],
  { id, install, beganAt, afterReceipt, readAt, trigger, leasedUntil }: OpenRun,
): Promise<void> {
  const now = toInstant(clock.now());
  const ageMs = Date.parse(now) - Date.parse(beganAt);
  if (trigger === 'command' && ageMs < commandMs) return;
  if (readAt === null) {
    const isBeingRead = leasedUntil !== null && leasedUntil > now;
    if (ageMs >= readMs && !isBeingRead) await runs.fail(id, 'Cut off while it was being read', now);
    return;
  }
  // First: what is derived meanwhile is counted as left, or as done.
  const hasPostponed = await memberships.hasPostponed(install);
  const work = await runs.count(install, { at: beganAt, afterReceipt }, now, now);
  const isDone = work.left === 0 && !hasPostponed;
  if (isDone || ageMs >= workMs) await runs.end(id, work, now);
}
