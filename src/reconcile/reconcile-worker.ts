import { toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { endRuns } from './end-runs.ts';
import { type ReconcileDeps, reconcileNext } from './reconcile-install.ts';

const stallMs = 15 * 60_000;
const pollMs = 1000;

/**
 * Reads whole installs where that was asked for, and adds what they say as evidence. A read that
 * failed, or came back without something, removes nobody.
 */
export function createReconcileWorker(deps: ReconcileDeps): Loop {
  const { installStates, logger, clock } = deps;
  return createLoop({
    name: 'reconcile',
    intervalMs: pollMs,
    logger,
    clock,
    stallMs,
    async run(signal, beat) {
      await endRuns(deps);
      if (!(await installStates.hasDue(toInstant(clock.now())))) return 'idle';
      return (await reconcileNext(deps, signal, { beat })) ? 'more' : 'idle';
    },
  });
}
