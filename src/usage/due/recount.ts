import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { applyChange, type DueChange, findChange, refreshDue } from './refresh-due.ts';
import { listWorkedTrainers } from './stale-store.ts';

/** A trainer whose stored due work was not what follows from the sources. */
export interface WrongDue {
  trainerId: string;
  /** The days that were wrong. */
  days: string[];
}

const trainersAtOnce = 10;

/** Works everything out anew from the sources, and mends what was stored where it differs. */
export async function recountDue(ctx: Context, signal?: AbortSignal, onProgress?: () => void): Promise<WrongDue[]> {
  await refreshDue(ctx, signal, onProgress);
  const wrong: WrongDue[] = [];
  for (let after = ''; !signal?.aborted; ) {
    const trainerIds = await listWorkedTrainers(ctx.database.kysely, after, trainersAtOnce);
    if (trainerIds.length === 0) return wrong;
    const change = await inTransaction(ctx.database, async (tx) => {
      // A trainer whose work changed meanwhile is worked out by the next refresh.
      const stale = await tx
        .selectFrom('usageStale')
        .select('trainerId')
        .where('trainerId', 'in', trainerIds)
        .execute();
      const settled = trainerIds.filter((id) => !stale.some(({ trainerId }) => trainerId === id));
      const found = await findChange(ctx, tx, settled, '');
      await applyChange(tx, found);
      return found;
    });
    wrong.push(...toWrong(change));
    after = trainerIds.at(-1) ?? after;
    onProgress?.();
    await nextTurn();
  }
  return wrong;
}

function toWrong({ saved, dropped, heldSaved, heldDropped }: DueChange): WrongDue[] {
  const all = [...saved, ...dropped, ...heldSaved, ...heldDropped];
  return [...Map.groupBy(all, ({ trainerId }) => trainerId)].map(([trainerId, some]) => {
    return { trainerId, days: [...new Set(some.map(({ day }) => day))].sort() };
  });
}
