import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { toInstant } from '../../lib/clock.ts';
import { clearLines, listDroppedImports } from './import-lines-store.ts';
import type { Progress } from './preview-import.ts';

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
