import { sql } from 'kysely';
import { inTransaction, type Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import type { PendingPayment } from '../sources/record-schema.ts';
import { type TakenPayments, takePayments } from './take-payments.ts';

// The only SQL of what waits for money, and of when it is read: one row per install.

export type PaymentReader = Row<'paymentReader'>;

export interface PaymentList {
  payments: readonly PendingPayment[];
  askedAt: string;
  /** When to read again, by what follows from it. */
  nextReadAt(taken: TakenPayments): string;
}

/** Asks for a reading of what waits for money, unless the readings of an install fail. */
export async function wantPaymentsRead(tx: Transaction, installs: readonly string[], now: string): Promise<void> {
  if (installs.length === 0) return;
  await tx
    .insertInto('paymentReader')
    .values(installs.map((install) => ({ install, nextReadAt: now, asks: 1 })))
    .onConflict((conflict) =>
      conflict
        .column('install')
        .doUpdateSet({ nextReadAt: now, asks: sql<number>`payment_reader.asks + 1` })
        .where('paymentReader.attempts', '=', 0),
    )
    .execute();
}

/** Forgets what waits for money at an install that is removed. */
export async function dropPayments(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('pendingPayment').where('install', '=', install).execute();
  await tx.deleteFrom('paymentReader').where('install', '=', install).execute();
}

/** When each of these installs is read next, with what its last readings came to. */
export function listPaymentReaders(ctx: Storage, installs: readonly string[]): Promise<PaymentReader[]> {
  if (installs.length === 0) return Promise.resolve([]);
  return ctx.database.kysely.selectFrom('paymentReader').selectAll().where('install', 'in', installs).execute();
}

/** Stores what follows from a list. The install stays due if an event has asked for a reading meanwhile. */
export async function keepPayments(
  ctx: Storage,
  { install, asks }: Pick<PaymentReader, 'install' | 'asks'>,
  { payments, askedAt, nextReadAt }: PaymentList,
): Promise<TakenPayments> {
  return await inTransaction(ctx.database, async (tx) => {
    const known = await tx.selectFrom('pendingPayment').selectAll().where('install', '=', install).execute();
    const taken = takePayments(known, payments, askedAt);
    await write(tx, install, taken, askedAt);
    const read = { nextReadAt: nextReadAt(taken), attempts: 0, failure: null };
    await tx
      .insertInto('paymentReader')
      .values({ install, ...read })
      .onConflict((conflict) =>
        conflict.column('install').doUpdateSet({
          ...read,
          asks: sql<number>`payment_reader.asks - ${asks}`,
          nextReadAt: sql<string>`case when payment_reader.asks = ${asks} then excluded.next_read_at
            else payment_reader.next_read_at end`,
        }),
      )
      .execute();
    return taken;
  });
}

export async function postponePayments(
  ctx: Storage,
  install: string,
  postponed: Pick<PaymentReader, 'failure' | 'nextReadAt' | 'attempts'>,
): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('paymentReader')
      .values({ install, ...postponed })
      .onConflict((conflict) => conflict.column('install').doUpdateSet(postponed))
      .execute(),
  );
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

/** Installs whose list could not be read so often in a row, and why. */
export function listFailingPayments(ctx: Storage, times: number): Promise<{ install: string; failure: string }[]> {
  return ctx.database.kysely
    .selectFrom('paymentReader')
    .select(['install', 'failure'])
    .where('attempts', '>=', times)
    .where('failure', 'is not', null)
    .$narrowType<{ failure: string }>()
    .orderBy('install')
    .execute();
}

async function write(tx: Transaction, install: string, { listed, missed, over }: TakenPayments, seenAt: string) {
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
