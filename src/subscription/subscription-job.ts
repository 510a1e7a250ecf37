import type { Context } from '../context.ts';
import { type Hold, withLock } from '../db/lock.ts';
import { type AppError, isTransient, toAppError } from '../domain/errors.ts';
import type { JobKind } from '../jobs/job.ts';
import { toInstant } from '../lib/clock.ts';
import { reportClock } from '../reconcile/runs/report-clock.ts';
import { applySteps } from './apply-steps.ts';
import { subscriptionLock } from './change-endpoint.ts';
import { decideSubscription } from './decide-subscription.ts';
import { lookAtSubscription } from './look-at-subscription.ts';
import { findSubscription, noteSubscriptionCheck, noteUnmatchedSignature } from './subscription-store.ts';
import { type Trouble, troubleOfError } from './troubles.ts';

/** How soon it is checked again where a command was changing it. */
const againMs = 10_000;

/** Checks the subscription of each install: when the install is new, and regularly. */
export const subscriptionJob: JobKind = {
  name: 'subscription',
  atOnce: 4,
  // Several requests to a slow marketplace, each with its retries.
  leaseMs: 10 * 60_000,
  isStanding: true,
  installs: ({ installs }) => installs.keys(),
  async run(ctx, { install }, signal) {
    const lock = { ...subscriptionLock(install), patienceMs: 0, signal };
    const check = async (hold: Hold) => {
      await checkSubscription(ctx, install, hold, signal);
      return ctx.config.subscription.everyMs;
    };
    return (await withLock(ctx, lock, check)) ?? againMs;
  },
};

/** Call it when no secret of an install made the signature of a request. Nothing waits for it. */
export function noteUnmatched(ctx: Context, install: string): void {
  if (!ctx.installs.has(install)) return;
  noteUnmatchedSignature(ctx, install, toInstant(ctx.clock.now())).catch((error: unknown) => {
    ctx.logger.warn({ err: toAppError(error), install }, 'A signature that no secret matched could not be noted');
  });
}

/**
 * Checks whether an install's deliveries can come, repairs what it may, and stores the trouble that
 * is left. A trouble that stays raises no second alert.
 */
export async function checkSubscription(ctx: Context, install: string, hold: Hold, signal: AbortSignal): Promise<void> {
  const { clock } = ctx;
  const { trouble: before } = await findSubscription(ctx, install);
  try {
    const look = await lookAtSubscription(ctx, install, signal);
    const { steps, trouble } = decideSubscription(install, look.view);
    await applySteps({ ...look, hold, signal }, steps);
    await noteSubscriptionCheck(ctx, install, toInstant(clock.now()), trouble);
    if (trouble !== null && trouble.says !== before?.says) ctx.logger.warn({ install, ...trouble }, troubled);
    if (trouble === null && before !== null) {
      ctx.logger.info({ install }, 'The webhook endpoint is in order again');
    }
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === 'internal') throw error;
    if (!signal.aborted) await report(ctx, install, error, before);
  } finally {
    reportClock(ctx, install);
  }
}

const troubled = 'Webhooks of an install may not arrive';

/** A transient error raises no alert, and does not replace a known trouble. */
async function report(ctx: Context, install: string, error: AppError, before: Trouble | null): Promise<void> {
  const trouble = troubleOfError(ctx, install, error);
  if (trouble.says === before?.says) return;
  if (!isTransient(error)) ctx.logger.warn({ install, ...trouble }, troubled);
  else {
    if (before !== null) return;
    ctx.logger.warn({ err: error, install }, 'A webhook endpoint could not be looked after');
  }
  await noteSubscriptionCheck(ctx, install, null, trouble);
}
