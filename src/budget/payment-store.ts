import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import { toExcluded } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import type { PendingPayment } from '../marketplace/source-records.ts';

// The SQL of payments that wait for a person.

export type StoredPayment = Pick<Row<'pendingPayment'>, 'paymentId' | 'seenAt' | 'absences'>;

export interface PaymentChanges {
  /** Payments that wait: all known ones, and as many new ones as are kept. */
  listed: readonly PendingPayment[];
  /** Payments that are missing from the list, which proves nothing yet. */
  missed: readonly StoredPayment[];
  /** Ids of payments that no longer wait. */
  over: readonly string[];
}

/** For an install that is removed. */
export async function dropPayments(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('pendingPayment').where('install', '=', install).execute();
}

export async function listStoredPayments(tx: Transaction, install: string): Promise<Row<'pendingPayment'>[]> {
  return await tx.selectFrom('pendingPayment').selectAll().where('install', '=', install).execute();
}

/** The oldest first. */
export function listPendingPayments(ctx: Storage): Promise<Row<'pendingPayment'>[]> {
  return ctx.database.kysely
    .selectFrom('pendingPayment')
    .selectAll()
    .orderBy('firstSeenAt')
    .orderBy('install')
    .orderBy('paymentId')
    .execute();
}

export async function writePayments(
  tx: Transaction,
  install: string,
  { listed, missed, over }: PaymentChanges,
  seenAt: string,
): Promise<void> {
  if (listed.length > 0) {
    const rows = listed.map(({ id: paymentId, jobId, amountUsd, url }) => {
      return { install, paymentId, jobId, amountUsd, url, firstSeenAt: seenAt, seenAt, absences: null };
    });
    const seen = toExcluded(['jobId', 'amountUsd', 'url', 'seenAt', 'absences']);
    const insert = tx.insertInto('pendingPayment').values(rows);
    await insert.onConflict((conflict) => conflict.columns(['install', 'paymentId']).doUpdateSet(seen)).execute();
  }
  for (const [absences, alike] of Map.groupBy(missed, (one) => one.absences)) {
    const ids = alike.map(({ paymentId }) => paymentId);
    await tx
      .updateTable('pendingPayment')
      .set({ absences })
      .where('install', '=', install)
      .where('paymentId', 'in', ids)
      .execute();
  }
  if (over.length === 0) return;
  await tx.deleteFrom('pendingPayment').where('install', '=', install).where('paymentId', 'in', over).execute();
}
