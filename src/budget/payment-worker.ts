import type { Context } from '../context.ts';
import { createInstallLanes, type LaneHold } from '../db/install-lanes.ts';
import { type AppError, toAppError } from '../domain/errors.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { backoffMs } from '../lib/retry.ts';
import type { PendingPayment } from '../sources/record-schema.ts';
import { keepPayments, listPaymentReaders, postponePayments } from './payment-store.ts';
import type { TakenPayments } from './take-payments.ts';

/** How many lists are read at the same time. */
const listsAtOnce = 4;
/** A list with its retries. A dead worker delays a reading by at most this long. */
const leaseMs = 90_000;
const stallMs = 5 * 60_000;

/**
 * Reads what waits for money, where a source lists it. Only a list says it: an event asks for a reading, and nothing of
 * the event is believed.
 */
export function createPaymentWorker(ctx: Context): Loop {
  const { sources } = ctx;
  return createInstallLanes(ctx, {
    name: 'payments',
    stallMs,
    leaseMs,
    atOnce: listsAtOnce,
    async due() {
      const having = [...sources].flatMap(([install, one]) => (one.listPendingPayments === undefined ? [] : [install]));
      return await dueAmong(ctx, having);
    },
    work: (install, signal, hold) => readPayments(ctx, install, signal, hold),
  });
}

async function dueAmong(ctx: Context, installs: readonly string[]): Promise<string[]> {
  const now = toInstant(ctx.clock.now());
  const readers = await listPaymentReaders(ctx, installs);
  const resting = new Set(readers.filter(({ nextReadAt }) => nextReadAt > now).map(({ install }) => install));
  return installs.filter((install) => !resting.has(install));
}

/** @returns false if the list is not due */
export async function readPayments(
  ctx: Context,
  install: string,
  signal: AbortSignal,
  hold: Pick<LaneHold, 'renew'>,
): Promise<boolean> {
  const { sources, logger, clock } = ctx;
  const list = sources.get(install)?.listPendingPayments;
  if (list === undefined || (await dueAmong(ctx, [install])).length === 0) return false;
  const [{ asks, attempts } = { asks: 0, attempts: 0 }] = await listPaymentReaders(ctx, [install]);
  const askedAt = toInstant(clock.now());
  let payments: PendingPayment[];
  try {
    payments = await list(signal);
  } catch (thrown) {
    if (signal.aborted) return true;
    const error = toAppError(thrown);
    logger.warn({ err: error, install }, 'What waits for money could not be read');
    const nextReadAt = instantIn(clock, restAfterFailure(error, attempts));
    await postponePayments(ctx, install, { failure: maskText(error.message), nextReadAt, attempts: attempts + 1 });
    return true;
  }
  // What another process has read meanwhile is newer.
  await hold.renew();
  const nextReadAt = (taken: TakenPayments) => instantIn(clock, restAfter(taken, asks));
  await keepPayments(ctx, { install, asks }, { payments, askedAt, nextReadAt });
  return true;
}

const minuteMs = 60_000;
const soonMs = 10 * minuteMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * Soon where a second list must prove that something is over, and after an event, as the list may show later what the
 * event spoke of. Hourly while anything waits. Daily else: events ask sooner.
 */
function restAfter({ listed, missed }: TakenPayments, asks: number): number {
  if (missed.length > 0 || asks > 0) return soonMs;
  return listed.length > 0 ? hourMs : dayMs;
}

/** People come and go without it, so there is no hurry. */
function restAfterFailure({ code, retryAfterMs }: AppError, attempts: number): number {
  const isRefused = code === 'unauthenticated' || code === 'forbidden' || code === 'not_found';
  return isRefused ? hourMs : Math.max(minuteMs, backoffMs(attempts + 1, retryAfterMs));
}
