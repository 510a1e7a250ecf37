import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { LockStore } from '../../db/lock-store.ts';
import { AppError } from '../../domain/errors.ts';
import { type Clock, instantIn, toInstant } from '../../lib/clock.ts';

/** While it is held, no other instance and no command changes the subscription. */
export interface SubscriptionHold {
  /**
   * Renews the lock for as long as one call to the marketplace may take. Call it before each call.
   *
   * @throws AppError `unavailable` if it was held too long and another process has it now
   */
  renew(): Promise<void>;
}

interface HoldDeps {
  locks: LockStore;
  clock: Clock;
}

interface HoldOptions {
  /** How long to wait while another process has it. */
  patienceMs: number;
  signal: AbortSignal;
}

/** Longer than any call to the marketplace takes with its retries. */
export const subscriptionLeaseMs = 120_000;
const retryEveryMs = 200;

/** @returns null if another process has it until the patience ends */
export async function holdSubscription<T>(
  { locks, clock }: HoldDeps,
  install: string,
  { patienceMs, signal }: HoldOptions,
  work: (hold: SubscriptionHold) => Promise<T>,
): Promise<T | null> {
  const [name, token] = [`subscription:${install}`, randomUUID()];
  const take = () => locks.hold(name, token, toInstant(clock.now()), instantIn(clock, subscriptionLeaseMs));
  const deadline = performance.now() + patienceMs;
  while (!(await take())) {
    if (signal.aborted || performance.now() >= deadline) return null;
    await wait(retryEveryMs, undefined, { signal }).catch(() => undefined);
  }
  try {
    return await work({
      async renew() {
        if (!(await take())) throw lost(install);
      },
    });
  } finally {
    await locks.release(name, token);
  }
}

function lost(install: string): AppError {
  const message = `The webhook endpoint of ${install} was held for too long, and another process holds it now`;
  return new AppError('unavailable', message);
}
