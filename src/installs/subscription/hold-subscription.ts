import { type Hold, holdLock } from '../../db/hold-lock.ts';
import type { LockStore } from '../../db/lock-store.ts';
import type { Clock } from '../../lib/clock.ts';

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
  deps: { locks: LockStore; clock: Clock },
  install: string,
  options: HoldOptions,
  work: (hold: SubscriptionHold) => Promise<T>,
): Promise<T | null> {
  const what = `The webhook endpoint of ${install}`;
  return await holdLock(
    deps,
    { name: `subscription:${install}`, what, leaseMs: subscriptionLeaseMs, ...options },
    work,
  );
}
