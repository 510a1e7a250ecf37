import { type Insertable, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import { firstIdSince, hasRows } from '../db/query.ts';
import type { Tables } from '../db/schema.ts';
import type { ReceiptOutcome } from '../domain/membership.ts';

/** The SQL of receipts: what was done in the tools, and what came of it. */

export async function addReceipt(tx: Transaction, receipt: Insertable<Tables['receipt']>): Promise<void> {
  await tx.insertInto('receipt').values(receipt).execute();
}

/** Whether a look has found the member since they were added last. */
export async function wasSeenSinceAdded(db: Transaction, membershipId: number): Promise<boolean> {
  const seen = db
    .selectFrom('receipt')
    .where('membershipId', '=', membershipId)
    .where('outcome', 'in', ['added', 'invited', 'already_member'])
    .where('generation', '>=', (eb) =>
      eb
        .selectFrom('intent')
        .select(({ fn }) => fn.coalesce(fn.max('intent.generation'), sql<number>`0`).as('generation'))
        .where('intent.membershipId', '=', membershipId)
        .where('intent.operation', '=', 'add'),
    );
  return await hasRows(seen);
}

export async function countReceipts(
  kysely: Transaction,
  since: string,
): Promise<{ tool: string; outcome: ReceiptOutcome; count: number }[]> {
  return await kysely
    .selectFrom('receipt')
    .innerJoin('membership', 'membership.id', 'receipt.membershipId')
    .select(['tool', 'outcome', kysely.fn.countAll<number>().as('count')])
    .where('receipt.id', '>=', await firstIdSince(kysely, 'receipt', 'createdAt', since))
    .where('createdAt', '>=', since)
    .groupBy(['tool', 'outcome'])
    .orderBy('tool')
    .orderBy('outcome')
    .execute();
}

export type MetAfter = Awaited<ReturnType<typeof listMetAfter>>[number];

/** Enough to show how long it takes. */
const mostMeasured = 2000;

/** How long trainers waited until they were in (`isAccess`) or out, the newest first: at most the newest 2,000. */
export async function listMetAfter(kysely: Transaction, since: string) {
  const rows = await kysely
    .selectFrom('receipt')
    .select(['operation', 'metAfterMs', 'createdAt'])
    .where('id', '>=', await firstIdSince(kysely, 'receipt', 'createdAt', since))
    .where('metAfterMs', 'is not', null)
    .where('createdAt', '>=', since)
    .orderBy('id', 'desc')
    .limit(mostMeasured)
    .execute();
  return rows.map(({ operation, metAfterMs, createdAt }) => ({
    isAccess: operation !== 'remove',
    ms: Number(metAfterMs),
    at: createdAt,
  }));
}

/** Clears what tools have said, which may quote a name. */
export async function clearReceiptMessages(tx: Transaction, membershipIds: readonly number[]): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('receipt')
    .set({ message: null })
    .where('message', 'is not', null)
    .where('membershipId', 'in', membershipIds)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
