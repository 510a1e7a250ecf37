import { setTimeout as wait } from 'node:timers/promises';
import { type Database, inTransaction } from '../../db/database.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import type { StagingStore } from './staging-store.ts';

const everyMs = 10 * 60_000;

/** Clears imports that were given up or killed, even if no import follows them. */
export function createClearImportsWorker(
  deps: Pick<ClearDeps, 'database' | 'staging' | 'clock'> & { logger: Logger },
): Loop {
  const { logger, clock } = deps;
  return createLoop({
    name: 'clear-imports',
    intervalMs: everyMs,
    logger,
    clock,
    async run(signal, beat) {
      await clearImports({ ...deps, signal, onProgress: beat });
      return 'idle';
    },
  });
}

export interface ClearDeps {
  database: Database;
  staging: StagingStore;
  clock: Clock;
  signal: AbortSignal;
  onProgress(says: string): void;
}

/** So few lines that clearing them stays well under 50 ms. */
const chunkLines = 500;
/** Lets others write between two chunks. */
const restMs = 2;

/**
 * Clears imports that were given up, and those whose process was killed. If it is stopped, the next call clears the
 * rest.
 */
export async function clearImports(deps: ClearDeps): Promise<void> {
  const { database, staging, clock, signal, onProgress } = deps;
  await inTransaction(database, (tx) => staging.dropStale(tx, toInstant(clock.now())));
  for (const id of await staging.listDropped()) {
    for (let cleared = 0; !signal.aborted; ) {
      const more = await inTransaction(database, (tx) => staging.clear(tx, id, chunkLines));
      if (more < chunkLines) break;
      cleared += more;
      onProgress(`${cleared} lines of import ${id} cleared that do not count`);
      await wait(restMs);
    }
  }
}
