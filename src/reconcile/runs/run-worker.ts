import type { Context } from '../../context.ts';
import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { hasPostponed } from '../../memberships/derivation-store.ts';
import { countRunWork, endRun, failRun, listOpenRuns, type OpenRun } from './run-store.ts';

/** Ends runs once what followed from their readings is done in the tools. */
export function createRunWorker(ctx: Context): Loop {
  const { pollMs, logger, clock } = ctx;
  return createLoop({
    name: 'runs',
    pollMs,
    logger,
    clock,
    async run() {
      await endRuns(ctx);
      return 'idle';
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
