import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { goneSince, isMissed, mergeAbsences } from '../domain/absences.ts';
import { AppError } from '../domain/errors.ts';
import type { Job, JobHold, JobKind } from '../jobs/job.ts';
import { toInstant } from '../lib/clock.ts';
import type { PendingPayment } from '../sources/record-schema.ts';
import { type KnownPayment, listKnownPayments, type TakenPayments, writePayments } from './payment-store.ts';

const minuteMs = 60_000;
const soonMs = 10 * minuteMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * Reads what waits for money, where a source lists it. Only a list says it: an event asks for a reading, and nothing of
 * the event is believed.
 */
export const paymentJob: JobKind = {
  name: 'payments',
  atOnce: 4,
  // A list with its retries.
  leaseMs: 90_000,
  stallMs: 5 * minuteMs,
  isStanding: true,
  installs: ({ sources }) =>
    [...sources].flatMap(([install, one]) => (one.listPendingPayments === undefined ? [] : [install])),
  // People come and go without it, so there is no hurry.
  restMs: () => minuteMs,
  run: readPayments,
};

async function readPayments(ctx: Context, { install, asks }: Job, signal: AbortSignal, hold: JobHold): Promise<number> {
  const list = ctx.sources.get(install)?.listPendingPayments;
  if (list === undefined) throw new AppError('not_found', `Install ${install} no longer lists payments`);
  const askedAt = toInstant(ctx.clock.now());
  const payments = await list(signal);
  // What another process has read meanwhile is newer.
  await hold.renew();
  const taken = await inTransaction(ctx.database, async (tx) => {
    const known = await listKnownPayments(tx, install);
    const taken = takePayments(known, payments, askedAt);
    await writePayments(tx, install, taken, askedAt);
    return taken;
  });
  return restAfter(taken, asks);
}

/**
 * Soon where a second list must prove that something is over, and after an event, as the list may show later what the
 * event spoke of. Hourly while anything waits. Daily else: events ask sooner.
 */
function restAfter({ listed, missed }: TakenPayments, asks: number): number {
  if (missed.length > 0 || asks > 0) return soonMs;
  return listed.length > 0 ? hourMs : dayMs;
}

/** More are not kept, so that storing them takes no long transaction. */
const mostKept = 500;

/**
 * Pure: what follows from one more list. What is listed waits. What is not listed is over once a second list, at least
 * ten minutes after the first, does not have it either: one list may be empty by mistake.
 *
 * @param askedAt when the request for the list began
 */
export function takePayments(
  known: readonly KnownPayment[],
  listed: readonly PendingPayment[],
  askedAt: string,
): TakenPayments {
  const ids = new Set(listed.map(({ id }) => id));
  const knownIds = new Set(known.map(({ paymentId }) => paymentId));
  const knownFirst = listed.toSorted((a, b) => Number(knownIds.has(b.id)) - Number(knownIds.has(a.id)));
  const unlisted = known
    .filter(({ paymentId }) => !ids.has(paymentId))
    .map((one) => ({ ...one, absences: mergeAbsences(one.absences, askedAt) }));
  const isOver = ({ absences, seenAt }: KnownPayment) => goneSince(absences, seenAt) !== null;
  return {
    listed: knownFirst.slice(0, mostKept),
    missed: unlisted.filter((one) => !isOver(one) && isMissed(one.absences, one.seenAt)),
    over: unlisted.filter(isOver).map(({ paymentId }) => paymentId),
  };
}
