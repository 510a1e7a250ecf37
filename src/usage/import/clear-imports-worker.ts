import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { clearLines, listDroppedImports } from './import-lines-store.ts';
import type { Progress } from './preview-import.ts';

const everyMs = 10 * 60_000;

/** Clears imports that were dropped or killed, even if no import follows them. */
export function createClearImportsWorker(ctx: Context): Loop {
  const { logger, clock } = ctx;
  return createLoop({
    name: 'clear-imports',
    intervalMs: everyMs,
    logger,
    clock,
    async run(signal, beat) {
      await clearImports(ctx, { signal, onProgress: beat });
      return 'idle';
    },
  });
}

/** So few lines that clearing them stays well under 50 ms. */
const chunkLines = 500;
/** Lets others write between two chunks. */
const restMs = 2;

/** Clears imports that were dropped, and those whose process was killed. If it is stopped, the next call goes on. */
export async function clearImports({ database, clock }: Context, { signal, onProgress }: Progress): Promise<void> {
  for (const id of await listDroppedImports(database, toInstant(clock.now()))) {
    for (let cleared = 0; !signal.aborted; ) {
      const more = await inTransaction(database, (tx) => clearLines(tx, id, chunkLines));
      if (more < chunkLines) break;
      cleared += more;
      onProgress(`${cleared} lines of import ${id} cleared that do not count`);
      await wait(restMs);
    }
  }
}
