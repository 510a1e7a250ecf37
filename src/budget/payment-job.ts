import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { goneSince, isMissed, mergeAbsences } from '../domain/evidence.ts';
import type { Job, JobHold, JobKind } from '../jobs/job.ts';
import { dayMs, hourMs, minuteMs, toInstant } from '../lib/clock.ts';
import type { PendingPayment } from '../marketplace/source-records.ts';
import { listStoredPayments, type PaymentChanges, type StoredPayment, writePayments } from './payment-store.ts';

const soonMs = 10 * minuteMs;

/** Reads which payments wait for a person, if a source lists them. Events only ask for a reading. */
export const paymentJob: JobKind = {
  name: 'payments',
  atOnce: 4,
  // A list with its retries.
  leaseMs: 90_000,
  stallMs: 5 * minuteMs,
  isStanding: true,
  installs: ({ sources }) =>
    [...sources].flatMap(([install, one]) => (one.listPendingPayments === undefined ? [] : [install])),
  // Access does not depend on it.
  restMs: () => minuteMs,
  run: readPayments,
};

async function readPayments(ctx: Context, { install, asks }: Job, signal: AbortSignal, hold: JobHold): Promise<number> {
  const list = ctx.sources.get(install)?.listPendingPayments;
  if (list === undefined) throw new AppError('not_found', `Install ${install} no longer lists payments`);
  const askedAt = toInstant(ctx.clock.now());
  const payments = await list(signal);
  // Throws if another process has taken over: its reading is newer.
  await hold.renew();
  const changes = await inTransaction(ctx.database, async (tx) => {
    const known = await listStoredPayments(tx, install);
    const changes = mergePayments(known, payments, askedAt);
    await writePayments(tx, install, changes, askedAt);
    return changes;
  });
  return restAfter(changes, asks);
}

/**
 * Soon if a second list must prove that a payment is over, and after an event, because the list may be behind. Hourly
 * while a payment waits. Otherwise daily, because events ask sooner.
 */
function restAfter({ listed, missed }: PaymentChanges, asks: number): number {
  if (missed.length > 0 || asks > 0) return soonMs;
  return listed.length > 0 ? hourMs : dayMs;
}

/** Keeps the transaction short. */
const mostKept = 500;

/**
 * Pure: merges one more list. A payment that is not listed is over once a second list, at least ten minutes later, lacks
 * it too, because one list may be empty by mistake.
 *
 * @param askedAt when the request for the list began
 */
export function mergePayments(
  known: readonly StoredPayment[],
  listed: readonly PendingPayment[],
  askedAt: string,
): PaymentChanges {
  const ids = new Set(listed.map(({ id }) => id));
  const knownIds = new Set(known.map(({ paymentId }) => paymentId));
  const knownFirst = listed.toSorted((a, b) => Number(knownIds.has(b.id)) - Number(knownIds.has(a.id)));
  const unlisted = known
    .filter(({ paymentId }) => !ids.has(paymentId))
    .map((one) => ({ ...one, absences: mergeAbsences(one.absences, askedAt) }));
  const isOver = ({ absences, seenAt }: StoredPayment) => goneSince(absences, seenAt) !== null;
  return {
    listed: knownFirst.slice(0, mostKept),
    missed: unlisted.filter((one) => !isOver(one) && isMissed(one.absences, one.seenAt)),
    over: unlisted.filter(isOver).map(({ paymentId }) => paymentId),
  };
}
