import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Database } from './database.ts';
import { holdLock, releaseLock } from './lock-store.ts';

/** While it is held, no other instance and no command has it. */
export interface Hold {
  /**
   * Renews the lock for its whole time. Call it before each call to the outside.
   *
   * @throws AppError `unavailable` if it was held too long and another process has it now
   */
  renew(): Promise<void>;
}

interface HoldOptions {
  /** The name of the lock, and what it keeps for one holder, for errors. */
  name: string;
  what: string;
  leaseMs: number;
  /** How long to wait while another process has it. */
  patienceMs: number;
  signal: AbortSignal;
}

const retryEveryMs = 200;

/** @returns null if another process has it until the patience ends */
export async function withLock<T>(
  { database, clock }: { database: Database; clock: Clock },
  { name, what, leaseMs, patienceMs, signal }: HoldOptions,
  work: (hold: Hold) => Promise<T>,
): Promise<T | null> {
  const token = randomUUID();
  const take = () => holdLock(database, name, token, toInstant(clock.now()), instantIn(clock, leaseMs));
  const deadline = performance.now() + patienceMs;
  while (!(await take())) {
    if (signal.aborted || performance.now() >= deadline) return null;
    await wait(retryEveryMs, undefined, { signal }).catch(() => undefined);
  }
  try {
    return await work({
      async renew() {
        if (await take()) return;
        throw new AppError('unavailable', `${what} was held for too long, and another process holds it now`);
      },
    });
  } finally {
    await releaseLock(database, name, token);
  }
}
