import type { Context } from '../../context.ts';
import { toInstant } from '../../lib/clock.ts';
import { createLanes, type Loop } from '../../lib/loop.ts';
import { hasPostponed } from '../../memberships/derivation-store.ts';
import { createInstallLease } from '../read/hold-lease.ts';
import { hasReadDue } from '../read/install-state-store.ts';
import { reconcileInstall, takeNext } from './reconcile-install.ts';
import { countRunWork, endRun, failRun, listOpenRuns, type OpenRun } from './run-store.ts';

const stallMs = 15 * 60_000;
/** How many installs are read at the same time. A large one takes hours. */
const installsAtOnce = 4;

/**
 * Reads whole installs when a read is due, and adds the answers as evidence. A read that fails or
 * that lacks something removes no member. The install that waits longest is next.
 */
export function createReconcileWorker(ctx: Context): Loop {
  const { logger, clock } = ctx;
  return createLanes({
    name: 'reconcile',
    pollMs: ctx.pollMs,
    logger,
    clock,
    stallMs,
    atOnce: installsAtOnce,
    async next(underway, signal) {
      await endRuns(ctx);
      if (!(await hasReadDue(ctx, toInstant(clock.now())))) return null;
      const taken = await takeNext(ctx, { except: [...underway] });
      if (taken === null) return null;
      const work = (beat: () => void) => reconcileInstall(ctx, createInstallLease(ctx, taken, beat), signal);
      return { name: taken.install, work };
    },
  });
}

/** After this time, work that is not done counts as left over. */
const workMs = 60_000;
/** After this time without a result of the read, the process that began it is taken for dead. */
const readMs = 15 * 60_000;
/** A command ends its own runs, unless it is killed. */
const commandMs = 60 * 60_000;

/** Ends the runs whose work is done, or was not done in time. */
export async function endRuns(ctx: Context): Promise<void> {
  for (const run of await listOpenRuns(ctx)) await endIfDone(ctx, run);
}

async function endIfDone(
  ctx: Context,
  { id, install, beganAt, afterReceipt, readAt, trigger, leasedUntil }: OpenRun,
): Promise<void> {
  const now = toInstant(ctx.clock.now());
  const ageMs = Date.parse(now) - Date.parse(beganAt);
  if (trigger === 'command' && ageMs < commandMs) return;
  if (readAt === null) {
    const isBeingRead = leasedUntil !== null && leasedUntil > now;
    if (ageMs >= readMs && !isBeingRead) await failRun(ctx, id, 'Interrupted during the reading', now);
    return;
  }
  // First, so that what is derived in between is counted below.
  const isDerived = !(await hasPostponed(ctx, install));
  const work = await countRunWork(ctx, install, { at: beganAt, afterReceipt }, now, now);
  const isDone = work.left === 0 && isDerived;
  if (isDone || ageMs >= workMs) await endRun(ctx, id, work, now);
}
