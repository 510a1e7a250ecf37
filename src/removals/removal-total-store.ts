import type { Database, Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { ReceiptOutcome } from '../domain/membership.ts';

/**
 * The SQL that counts all removals ever made. They are counted with their receipt, so the number is the same for every
 * process. A command also removes members, and a counter in its memory would end with it.
 */

/** Call it last in a transaction: all removals of an install wait for each other on this row. */
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

export async function listRemoved({ kysely }: Pick<Database, 'kysely'>): Promise<Row<'removalTotal'>[]> {
  return await kysely.selectFrom('removalTotal').selectAll().execute();
}
