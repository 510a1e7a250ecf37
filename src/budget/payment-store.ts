import { sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { isFree } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';
import type { PendingPayment } from '../sources/pending-payment.ts';
import { type TakenPayments, takePayments } from './take-payments.ts';

/** The only SQL of what waits for money, and of the leases for reading it: one row per install. */
export interface PaymentStore {
  /** Those of these installs whose list is to be read. */
  due(installs: readonly string[], now: string): Promise<string[]>;
  /** @returns undefined if another process has just claimed it */
  claim(install: string, now: string, leasedUntil: string): Promise<PaymentClaim | undefined>;
  /**
   * Stores what follows from a list. The install stays due if an event has asked for a reading meanwhile.
   *
   * @returns null, and nothing is stored, if the claim ran out and another process has the install
   */
  keep(claim: PaymentClaim, list: PaymentList): Promise<TakenPayments | null>;
  postpone(claim: PaymentClaim, failure: string, nextReadAt: string): Promise<void>;
  /** Ends a claim. */
  release(claim: PaymentClaim): Promise<void>;
  /** Those that wait, the longest first. */
  list(): Promise<Row<'pendingPayment'>[]>;
  /** Installs whose list could not be read so often in a row, and why. */
  listFailing(times: number): Promise<{ install: string; failure: string }[]>;
}

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

export function createPaymentStore(database: Database): PaymentStore {
  const { kysely } = database;

  async function update(claim: PaymentClaim, changes: { attempts?: number; failure?: string; nextReadAt?: string }) {
    await inTransaction(database, (tx) =>
      ofClaim(tx, claim)
        .set({ ...changes, leasedUntil: null })
        .execute(),
    );
  }

  return {
    async due(installs, now) {
      if (installs.length === 0) return [];
      const rows = await kysely
        .selectFrom('paymentReader')
        .select(['install', 'nextReadAt'])
        .select((eb) => eb.or([eb('nextReadAt', '>', now), eb.not(isFree('paymentReader', now))]).as('rests'))
        .where('install', 'in', installs)
        .orderBy('nextReadAt')
        .execute();
      const known = new Set(rows.map(({ install }) => install));
      const due = rows.filter(({ rests }) => !rests).map(({ install }) => install);
      return [...installs.filter((install) => !known.has(install)), ...due];
    },

    async claim(install, now, leasedUntil) {
      const claimed = await inTransaction(database, (tx) =>
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
    },

    async keep(claim, { payments, askedAt, nextReadAt }) {
      const { install, asks } = claim;
      return await inTransaction(database, async (tx) => {
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
    },

    postpone: (claim, failure, nextReadAt) => update(claim, { failure, nextReadAt, attempts: claim.attempts + 1 }),
    release: (claim) => update(claim, {}),

    list: () =>
      kysely
        .selectFrom('pendingPayment')
        .selectAll()
        .orderBy('firstSeenAt')
        .orderBy('install')
        .orderBy('paymentId')
        .execute(),

    listFailing: (times) =>
      kysely
        .selectFrom('paymentReader')
        .select(['install', 'failure'])
        .where('attempts', '>=', times)
        .where('failure', 'is not', null)
        .$narrowType<{ failure: string }>()
        .orderBy('install')
        .execute(),
  };
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
