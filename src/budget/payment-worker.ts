import type { Context } from '../context.ts';
import { type AppError, toAppError } from '../domain/errors.ts';
import { backoffMs } from '../lib/backoff.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLanes } from '../lib/lanes.ts';
import type { Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { createTurns } from '../lib/turns.ts';
import type { PendingPayment } from '../sources/pending-payment.ts';
import {
  claimPayments,
  installsWithPaymentsDue,
  keepPayments,
  type PaymentClaim,
  postponePayments,
  releasePayments,
} from './payment-store.ts';
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
  const { sources, logger, clock, pollMs } = ctx;
  const turns = createTurns();
  return createLanes({
    name: 'payments',
    pollMs,
    logger,
    clock,
    stallMs,
    atOnce: listsAtOnce,
    async next(underway, signal) {
      const having = [...sources].flatMap(([install, one]) => (one.listPendingPayments === undefined ? [] : [install]));
      const free = having.filter((install) => !underway.has(install));
      for (const install of turns.inOrder(await installsWithPaymentsDue(ctx, free, toInstant(clock.now())))) {
        const claim = await claimPayments(ctx, install, toInstant(clock.now()), instantIn(clock, leaseMs));
        if (claim === undefined) continue;
        turns.served(install);
        return { name: install, work: () => readPayments(ctx, claim, signal) };
      }
      return null;
    },
  });
}

export async function readPayments(ctx: Context, claim: PaymentClaim, signal: AbortSignal): Promise<void> {
  const { sources, logger, clock } = ctx;
  const { install } = claim;
  const list = sources.get(install)?.listPendingPayments;
  if (list === undefined) return await releasePayments(ctx, claim);
  try {
    const askedAt = toInstant(clock.now());
    const nextReadAt = (taken: TakenPayments) => instantIn(clock, restAfter(taken, claim));
    const taken = await keepPayments(ctx, claim, { payments: await list(signal), askedAt, nextReadAt });
    if (taken !== null) raise(ctx, install, taken.listed);
  } catch (thrown) {
    const error = toAppError(thrown);
    if (signal.aborted) return await releasePayments(ctx, claim);
    logger.warn({ err: error, install }, 'What waits for money could not be read');
    await postponePayments(ctx, claim, maskText(error.message), instantIn(clock, restAfterFailure(error, claim)));
  }
}

const minuteMs = 60_000;
const soonMs = 10 * minuteMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * Soon where a second list must prove that something is over, and after an event, as the list may show later what the
 * event spoke of. Hourly while anything waits. Daily else: events ask sooner.
 */
function restAfter({ listed, missed }: TakenPayments, { asks }: PaymentClaim): number {
  if (missed.length > 0 || asks > 0) return soonMs;
  return listed.length > 0 ? hourMs : dayMs;
}

/** People come and go without it, so there is no hurry. */
function restAfterFailure({ code, retryAfterMs }: AppError, { attempts }: PaymentClaim): number {
  const isRefused = code === 'unauthenticated' || code === 'forbidden' || code === 'not_found';
  return isRefused ? hourMs : Math.max(minuteMs, backoffMs(attempts + 1, retryAfterMs));
}

/** If more wait, one alert is about all of the install. */
export const mostNamed = 20;

function raise({ alerts }: Context, install: string, listed: readonly PendingPayment[]): void {
  if (listed.length > mostNamed) {
    alerts.raise('payment_waiting', { install, count: listed.length }, 'Many payments wait for you at the marketplace');
    return;
  }
  for (const { id: payment, jobId: job, amountUsd, url } of listed) {
    const about = { install, payment, ...(job !== null && { job }), ...(amountUsd !== null && { amountUsd }), url };
    alerts.raise('payment_waiting', about, 'A payment waits for you at the marketplace');
  }
}
