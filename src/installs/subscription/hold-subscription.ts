import type { Context } from '../../context.ts';
import { type Hold, withLock } from '../../db/with-lock.ts';

/** While it is held, no other instance and no command changes the subscription. */
export type SubscriptionHold = Hold;

interface HoldOptions {
  /** How long to wait while another process has it. */
  patienceMs: number;
  signal: AbortSignal;
}

/** Longer than any call to the marketplace takes with its retries. */
export const subscriptionLeaseMs = 120_000;

/** @returns null if another process has it until the patience ends */
export async function holdSubscription<T>(
  ctx: Context,
  install: string,
  options: HoldOptions,
  work: (hold: SubscriptionHold) => Promise<T>,
): Promise<T | null> {
  const what = `The webhook endpoint of ${install}`;
  return await withLock(ctx, { name: `subscription:${install}`, what, leaseMs: subscriptionLeaseMs, ...options }, work);
}
