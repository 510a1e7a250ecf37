import type { Database, Transaction } from '../db/database.ts';
import type { ReceiptOutcome } from '../domain/membership.ts';

/**
 * The SQL of how many people were removed, ever. Counted with the receipt that says so, and so the
 * same for every process: a command removes people too, and a counter of its own dies with it.
 */

/** To be the last that a transaction does: all removals of an install wait for each other here. */
export async function countRemoved(
  tx: Transaction,
  { install }: { install: string },
  { outcome }: { outcome: ReceiptOutcome },
): Promise<void> {
  if (outcome !== 'removed') return;
  await tx
    .insertInto('removalTotal')
    .values({ install, removed: 1 })
    .onConflict((conflict) =>
      conflict.column('install').doUpdateSet((eb) => ({ removed: eb('removalTotal.removed', '+', 1) })),
    )
    .execute();
}

export async function listRemoved({
  kysely,
}: Pick<Database, 'kysely'>): Promise<{ install: string; removed: number }[]> {
  const rows = await kysely.selectFrom('removalTotal').selectAll().execute();
  return rows.map(({ install, removed }) => ({ install, removed: Number(removed) }));
}
