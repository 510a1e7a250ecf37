import { toInstant } from '../../lib/clock.ts';
import { createLanes } from '../../lib/lanes.ts';
import type { Loop } from '../../lib/loop.ts';
import { createLease } from '../read/hold-lease.ts';
import { endRuns } from './end-runs.ts';
import { type ReconcileDeps, reconcile, takeNext } from './reconcile-install.ts';

const stallMs = 15 * 60_000;
/** So many installs are read side by side: to read a large one takes hours. */
const installsAtOnce = 4;

/**
 * Reads whole installs where that was asked for, and adds what they say as evidence. A read that
 * failed, or came back without something, removes nobody. Who waits for longest is next.
 */
export function createReconcileWorker(deps: ReconcileDeps): Loop {
  const { installStates, logger, clock } = deps;
  return createLanes({
    name: 'reconcile',
    pollMs: deps.pollMs,
    logger,
    clock,
    stallMs,
    atOnce: installsAtOnce,
    async next(underway, signal) {
      await endRuns(deps);
      if (!(await installStates.hasDue(toInstant(clock.now())))) return null;
      const taken = await takeNext(deps, { except: [...underway] });
      if (taken === null) return null;
      const work = (beat: () => void) => reconcile(deps, createLease(deps, taken, beat), signal);
      return { name: taken.install, work };
    },
  });
}
