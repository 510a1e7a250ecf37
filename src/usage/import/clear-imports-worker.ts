import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import type { Storage } from '../../keys/storage.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import type { Progress } from './preview-import.ts';
import { clearStaging, dropStaleStagings, listDroppedStagings } from './staging-store.ts';

const everyMs = 10 * 60_000;

/** Clears imports that were given up or killed, even if no import follows them. */
export function createClearImportsWorker(ctx: Context): Loop {
  const { logger, clock } = ctx;
  return createLoop({
    name: 'clear-imports',
    intervalMs: everyMs,
    logger,
    clock,
    async run(signal, beat) {
      await clearImports(ctx, clock, { signal, onProgress: beat });
      return 'idle';
    },
  });
}

/** So few lines that clearing them stays well under 50 ms. */
const chunkLines = 500;
/** Lets others write between two chunks. */
const restMs = 2;

/**
 * Clears imports that were given up, and those whose process was killed. If it is stopped, the next call clears the
 * rest.
 */
export async function clearImports(ctx: Storage, clock: Clock, { signal, onProgress }: Progress): Promise<void> {
  const { database } = ctx;
  await inTransaction(database, (tx) => dropStaleStagings(tx, toInstant(clock.now())));
  for (const id of await listDroppedStagings(ctx)) {
    for (let cleared = 0; !signal.aborted; ) {
      const more = await inTransaction(database, (tx) => clearStaging(tx, id, chunkLines));
      if (more < chunkLines) break;
      cleared += more;
      onProgress(`${cleared} lines of import ${id} cleared that do not count`);
      await wait(restMs);
    }
  }
}
