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

interface LockOptions {
  /** The name of the lock, and what it keeps for one holder, for errors. */
  name: string;
  what: string;
  leaseMs: number;
}

interface HoldOptions extends LockOptions {
  /** How long to wait while another process has it. */
  patienceMs: number;
  signal: AbortSignal;
}

const retryEveryMs = 200;

/** @returns null if another process has it until the patience ends */
export async function withLock<T>(
  ctx: { database: Database; clock: Clock },
  { patienceMs, signal, ...options }: HoldOptions,
  work: (hold: Hold) => Promise<T>,
): Promise<T | null> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const lock = await takeLock(ctx, options);
    if (lock !== null) return await work(lock).finally(lock.release);
    if (signal.aborted || performance.now() >= deadline) return null;
    await wait(retryEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

interface Lock extends Hold {
  /** Renews it as `renew`. @returns false if another process has it now */
  keeps(): Promise<boolean>;
  release(): Promise<void>;
}

/** @returns null if another process has it */
export async function takeLock(
  { database, clock }: { database: Database; clock: Clock },
  { name, what, leaseMs }: LockOptions,
): Promise<Lock | null> {
  const token = randomUUID();
  const take = () => holdLock(database, name, token, toInstant(clock.now()), instantIn(clock, leaseMs));
  if (!(await take())) return null;
  return {
    keeps: take,
    async renew() {
      if (await take()) return;
      throw new AppError('unavailable', `${what} was held for too long, and another process holds it now`);
    },
    release: () => releaseLock(database, name, token),
  };
}
