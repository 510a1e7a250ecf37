import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { instantIn } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { deleteOld } from './storage-store.ts';

const intervalMs = 10 * 60_000;
/** Small, and with a pause after each, so that storing never waits long for deleting. */
const chunkSize = 100;
const restMs = 20;

/** Deletes deliveries whose retention time is over. */
export function createPurgeWorker(ctx: Context): Loop {
  return createLoop({
    name: 'purge',
    intervalMs,
    logger: ctx.logger,
    clock: ctx.clock,
    async run(signal) {
      const purged = await deleteOld(ctx.database, instantIn(ctx.clock, -ctx.config.retention.deliveriesMs), chunkSize);
      if (purged === 0) return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}
