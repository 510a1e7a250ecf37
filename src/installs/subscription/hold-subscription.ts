import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { LockStore } from '../../db/lock-store.ts';
import { AppError } from '../../domain/errors.ts';
import { type Clock, instantIn, toInstant } from '../../lib/clock.ts';

/** A subscription that nobody else changes meanwhile: no other instance, and no command. */
export interface SubscriptionHold {
  /**
   * Keeps it for as long as a call to the marketplace may take; to be asked before each.
   *
   * @throws AppError `unavailable` where it was held for too long, and another has it by now
   */
  renew(): Promise<void>;
}

interface HoldDeps {
  locks: LockStore;
  clock: Clock;
}

interface HoldOptions {
  /** How long to wait while another has it. */
  patienceMs: number;
  signal: AbortSignal;
}

/** Longer than any call to the marketplace takes, with its tries. */
export const subscriptionLeaseMs = 120_000;
const lookEveryMs = 200;

/** @returns null where another has it, for as long as the patience lasts */
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
    await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
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
  const message = `The webhook endpoint of ${install} was looked after for too long, and another process does so now`;
  return new AppError('unavailable', message);
}
