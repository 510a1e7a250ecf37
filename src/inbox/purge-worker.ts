import { setTimeout as wait } from 'node:timers/promises';
import type { Storage } from '../keys/storage.ts';
import { type Clock, instantIn } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { deleteOld } from './storage-store.ts';

interface PurgeDeps extends Storage {
  /** How long a settled delivery is kept. */
  retentionMs: number;
  logger: Logger;
  clock: Clock;
}

const intervalMs = 10 * 60_000;
/** Small, and with a pause after each, so that storing never waits long for deleting. */
const chunkSize = 100;
const restMs = 20;

/** Deletes deliveries whose retention time is over. */
export function createPurgeWorker(ctx: PurgeDeps): Loop {
  return createLoop({
    name: 'purge',
    intervalMs,
    logger: ctx.logger,
    clock: ctx.clock,
    async run(signal) {
      const purged = await deleteOld(ctx.database, instantIn(ctx.clock, -ctx.retentionMs), chunkSize);
      if (purged === 0) return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}
