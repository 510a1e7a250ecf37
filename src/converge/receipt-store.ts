import type { Insertable } from 'kysely';
import type { Database, Transaction } from '../db/database.ts';
import { firstIdSince } from '../db/first-id-since.ts';
import type { ReceiptTable } from '../db/tables.ts';
import type { ReceiptOutcome } from '../domain/membership.ts';

/** The SQL of receipts: what was done in the tools, and what came of it. */

export async function addReceipt(tx: Transaction, receipt: Insertable<ReceiptTable>): Promise<void> {
  await tx.insertInto('receipt').values(receipt).execute();
}

export async function countReceipts(
  kysely: Database['kysely'],
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

/** Clears what tools have said, which may quote a name. */
export async function clearReceiptMessages(tx: Transaction, membershipIds: readonly number[]): Promise<void> {
  await tx
    .updateTable('receipt')
    .set({ message: null })
    .where('message', 'is not', null)
    .where('membershipId', 'in', membershipIds)
    .execute();
}
