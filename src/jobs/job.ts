import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { Hold } from '../db/lock.ts';
import { type AppError, refusesToken } from '../domain/errors.ts';
import { nextTick } from '../lib/tick.ts';
import { backoffMs } from '../lib/retry.ts';

/**
 * Jobs: one table says what is due, and one runner does it. When a job is due, whose turn it is, its lease and what
 * follows when it fails are known here alone. What a kind of job does, its `run` knows.
 */

/** Of work, there is a kind for each tool. */
export type JobName =
  | 'active list'
  | 'budget'
  | 'budget sweep'
  | 'contracts'
  | 'feed'
  | 'final reports'
  | 'guidelines'
  | 'payments'
  | `purge ${'answers' | 'deliveries' | 'imports' | 'mail counts' | 'notices'}`
  | 'reconcile'
  | 'retention'
  | 'schedule'
  | 'silent schedule'
  | 'subscription'
  | 'token expiry'
  | 'vacuum'
  | 'work sweep'
  | `work in ${string}`;

/** A kind of work. To add one, write a constant of this type and name it in `app/loops.ts`. */
export interface JobKind {
  name: JobName;
  /** How many of its jobs one process runs at the same time: one of each install, and installs take turns. */
  atOnce: number;
  /** A dead process delays a job by at most this long. A longer run renews its lease. */
  leaseMs: number;
  /** A run without a beat for longer than this counts as stalled; by default as long as the lease. */
  stallMs?: number;
  /** Whose jobs are run; by default everybody's. `['']` for a job of no install. */
  installs?(ctx: Context): Iterable<string>;
  /** Whether each of the installs always has one such job, due at once when it is new. Others come by `wantJobs`. */
  isStanding?: boolean;
  /** A cron pattern, in UTC: its one job, of no install, is due at each tick. Missed ticks are one. */
  schedule?(ctx: Context): string;
  /** The shortest wait after a failure; 0 by default. */
  restMs?(ctx: Context): number;
  /** What the log says when a run fails. */
  failure?: string;
  /** Whether a refused token, or a marketplace that does not answer, concerns all its jobs of an install. */
  restsTogether?: boolean;
  /**
   * It may run again after it has succeeded, and two processes may run it at once if one has lost its lease.
   *
   * @returns after how long it is due again, unless it is asked for sooner; null if there is nothing more to do
   * @throws AppError if it failed; then it is run again later
   */
  run(ctx: Context, job: Job, signal: AbortSignal, hold: JobHold): Promise<number | null>;
}

export interface JobKey {
  key: string;
  install: string;
}

/** The job of a kind of which each install has one. */
export function jobOf(install: string): JobKey {
  return { key: install, install };
}

/** A kind of which there is one job, of no install: one process at a time does it for all. */
export function soleJob(name: JobName, run: JobKind['run']): JobKind {
  return { name, atOnce: 1, leaseMs: 5 * 60_000, isStanding: true, installs: () => [''], run };
}

/** A kind whose one job is due at each tick of a schedule. */
export function scheduledJob(
  name: JobName,
  schedule: (ctx: Context) => string,
  work: (ctx: Context, signal: AbortSignal, hold: JobHold) => Promise<void>,
): JobKind {
  const run: JobKind['run'] = async (ctx, _job, signal, hold) => {
    await work(ctx, signal, hold);
    return Date.parse(nextTick(schedule(ctx), ctx.clock.now())) - ctx.clock.now().getTime();
  };
  return { ...soleJob(name, run), isStanding: false, schedule };
}

/** A job that is being run. */
export interface Job extends JobKey {
  /** How often it was asked for since the run before began. */
  asks: number;
  /** How many runs in a row have failed. */
  attempts: number;
  failingSince: string | null;
}

export interface JobHold extends Hold {
  /** Call it at each step of long work. `renew` and `progress` do it too. */
  beat(): void;
  /** Call it at each step of work that may outlive its lease: renews the lease in time. @throws AppError as `renew` */
  progress(): Promise<void>;
  /** Call it in a transaction that stores what the job found. @throws AppError as `renew` */
  confirm(tx: Transaction): Promise<void>;
}

/** A refused token may be replaced in the meantime. */
const refusedRestMs = 15 * 60_000;

/** How long a job waits after it failed so often in a row. */
export function waitAfter(ctx: Context, { restMs, restsTogether }: JobKind, error: AppError, attempts: number): number {
  const isRefused = restsTogether === true && refusesToken(error);
  const waitMs = isRefused ? refusedRestMs : backoffMs(attempts, error.retryAfterMs);
  return Math.max(restMs?.(ctx) ?? 0, waitMs);
}
