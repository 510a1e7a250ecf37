import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { Absences } from '../domain/absences.ts';
import type { Storage } from '../keys/storage.ts';
import type { PendingPayment } from '../sources/record-schema.ts';

// The only SQL of what waits for money.

/** A payment that waited at the last reading that listed it. */
export interface KnownPayment {
  paymentId: string;
  seenAt: string;
  absences: Absences;
}

export interface TakenPayments {
  /** What waits: all that was known before, and of the others as many as there is room for. */
  listed: readonly PendingPayment[];
  /** Not listed, which proves nothing yet. */
  missed: readonly Pick<KnownPayment, 'paymentId' | 'absences'>[];
  /** Ids of payments that no longer wait. */
  over: readonly string[];
}

/** Forgets what waits for money at an install that is removed. */
export async function dropPayments(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('pendingPayment').where('install', '=', install).execute();
}

export async function listKnownPayments(tx: Transaction, install: string): Promise<Row<'pendingPayment'>[]> {
  return await tx.selectFrom('pendingPayment').selectAll().where('install', '=', install).execute();
}

/** Those that wait, the longest first. */
export function listPendingPayments(ctx: Storage): Promise<Row<'pendingPayment'>[]> {
  return ctx.database.kysely
    .selectFrom('pendingPayment')
    .selectAll()
    .orderBy('firstSeenAt')
    .orderBy('install')
    .orderBy('paymentId')
    .execute();
}

/** Stores what follows from a list. */
export async function writePayments(
  tx: Transaction,
  install: string,
  { listed, missed, over }: TakenPayments,
  seenAt: string,
): Promise<void> {
  if (listed.length > 0) {
    const seen = ['jobId', 'amountUsd', 'url', 'seenAt', 'absences'] as const;
    const rows = listed.map(({ id: paymentId, jobId, amountUsd, url }) => {
      return { install, paymentId, jobId, amountUsd, url, firstSeenAt: seenAt, seenAt, absences: null };
    });
    await tx
      .insertInto('pendingPayment')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(['install', 'paymentId'])
          .doUpdateSet((eb) => Object.fromEntries(seen.map((name) => [name, eb.ref(`excluded.${name}`)]))),
      )
      .execute();
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
