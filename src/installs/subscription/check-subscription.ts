import { type AppError, isTransient, toAppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { applySteps } from './apply-steps.ts';
import { decideSubscription } from './decide-subscription.ts';
import { holdSubscription, type SubscriptionHold } from './hold-subscription.ts';
import { lookAtSubscription, type SubscriptionDeps } from './look-at-subscription.ts';
import { type Trouble, troubleOfError } from './troubles.ts';

/**
 * Checks whether an install's deliveries can come, repairs what it may, and stores the trouble that
 * is left. A trouble that stays raises no second alert.
 *
 * @returns false if another process holds the subscription now
 */
export async function checkSubscription(
  deps: SubscriptionDeps,
  install: string,
  signal: AbortSignal,
): Promise<boolean> {
  const work = (hold: SubscriptionHold) => check(deps, install, hold, signal);
  return (await holdSubscription(deps, install, { patienceMs: 0, signal }, work)) ?? false;
}

async function check(
  deps: SubscriptionDeps,
  install: string,
  hold: SubscriptionHold,
  signal: AbortSignal,
): Promise<true> {
  const { subscriptions, alerts, clock } = deps;
  const { trouble: before } = await subscriptions.find(install);
  try {
    const look = await lookAtSubscription(deps, install, signal);
    const { steps, trouble } = decideSubscription(install, look.view);
    await applySteps(deps, look, hold, steps, signal);
    await subscriptions.check(install, toInstant(clock.now()), trouble);
    if (trouble !== null && trouble.says !== before?.says) {
      alerts.raise('endpoint_trouble', { install, action: trouble.action }, trouble.says);
    }
    if (trouble === null && before !== null) {
      deps.logger.info({ install }, 'The webhook endpoint is in order again');
    }
  } catch (thrown) {
    const error = toAppError(thrown);
    if (error.code === 'internal') throw error;
    if (!signal.aborted) await report(deps, install, error, before);
  }
  return true;
}

/** A transient error raises no alert, and does not replace a known trouble. */
async function report(
  { subscriptions, alerts, logger }: SubscriptionDeps,
  install: string,
  error: AppError,
  before: Trouble | null,
): Promise<void> {
  const trouble = troubleOfError(install, error);
  if (trouble.says === before?.says) return;
  if (!isTransient(error)) {
    alerts.raise('endpoint_trouble', { install, action: trouble.action }, trouble.says);
  } else {
    if (before !== null) return;
    logger.warn({ err: error, install }, 'A webhook endpoint could not be looked after');
  }
  await subscriptions.check(install, null, trouble);
}
