import { sql } from 'kysely';
import { inTransaction, type Transaction } from '../db/database.ts';
import { isFree } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';
import type { PendingPayment } from '../sources/pending-payment.ts';
import { type TakenPayments, takePayments } from './take-payments.ts';

// The only SQL of what waits for money, and of the leases for reading it: one row per install.

export interface PaymentClaim {
  install: string;
  leasedUntil: string;
  /** How many events have asked since the last list. */
  asks: number;
  attempts: number;
}

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
    .values(installs.map((install) => ({ install, nextReadAt: now, asks: 1, leasedUntil: null, failure: null })))
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

/** Those of these installs whose list is to be read. */
export async function installsWithPaymentsDue(
  ctx: Storage,
  installs: readonly string[],
  now: string,
): Promise<string[]> {
  if (installs.length === 0) return [];
  const rows = await ctx.database.kysely
    .selectFrom('paymentReader')
    .select(['install', 'nextReadAt'])
    .select((eb) => eb.or([eb('nextReadAt', '>', now), eb.not(isFree('paymentReader', now))]).as('rests'))
    .where('install', 'in', installs)
    .orderBy('nextReadAt')
    .execute();
  const known = new Set(rows.map(({ install }) => install));
  const due = rows.filter(({ rests }) => !rests).map(({ install }) => install);
  return [...installs.filter((install) => !known.has(install)), ...due];
}

/** @returns undefined if another process has just claimed it */
export async function claimPayments(
  ctx: Storage,
  install: string,
  now: string,
  leasedUntil: string,
): Promise<PaymentClaim | undefined> {
  const claimed = await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('paymentReader')
      .values({ install, nextReadAt: now, leasedUntil, failure: null })
      .onConflict((conflict) =>
        conflict
          .column('install')
          .doUpdateSet({ leasedUntil })
          .where('paymentReader.nextReadAt', '<=', now)
          .where(isFree('paymentReader', now)),
      )
      .returning(['asks', 'attempts'])
      .executeTakeFirst(),
  );
  return claimed && { install, leasedUntil, ...claimed };
}

/**
 * Stores what follows from a list. The install stays due if an event has asked for a reading meanwhile.
 *
 * @returns null, and nothing is stored, if the claim ran out and another process has the install
 */
export async function keepPayments(
  ctx: Storage,
  claim: PaymentClaim,
  { payments, askedAt, nextReadAt }: PaymentList,
): Promise<TakenPayments | null> {
  const { install, asks } = claim;
  return await inTransaction(ctx.database, async (tx) => {
    const held = await ofClaim(tx, claim)
      .set({ leasedUntil: null, attempts: 0, failure: null, asks: sql<number>`asks - ${asks}` })
      .returning('asks')
      .executeTakeFirst();
    if (held === undefined) return null;
    const known = await tx.selectFrom('pendingPayment').selectAll().where('install', '=', install).execute();
    const taken = takePayments(known, payments, askedAt);
    await write(tx, install, taken, askedAt);
    if (held.asks === 0) {
      const next = { nextReadAt: nextReadAt(taken) };
      await tx.updateTable('paymentReader').set(next).where('install', '=', install).execute();
    }
    return taken;
  });
}

export function postponePayments(
  ctx: Storage,
  claim: PaymentClaim,
  failure: string,
  nextReadAt: string,
): Promise<void> {
  return update(ctx, claim, { failure, nextReadAt, attempts: claim.attempts + 1 });
}

/** Ends a claim. */
export function releasePayments(ctx: Storage, claim: PaymentClaim): Promise<void> {
  return update(ctx, claim, {});
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

async function update(
  ctx: Storage,
  claim: PaymentClaim,
  changes: { attempts?: number; failure?: string; nextReadAt?: string },
) {
  await inTransaction(ctx.database, (tx) =>
    ofClaim(tx, claim)
      .set({ ...changes, leasedUntil: null })
      .execute(),
  );
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

function ofClaim(tx: Transaction, { install, leasedUntil }: PaymentClaim) {
  return tx.updateTable('paymentReader').where('install', '=', install).where('leasedUntil', '=', leasedUntil);
}
