import type { Context } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { Hold } from '../db/lock.ts';
import { type AppError, refusesToken } from '../domain/errors.ts';
import { nextTick } from '../lib/days.ts';
import { backoffMs } from '../lib/retry.ts';

/**
 * One table says which jobs are due, and one runner runs them. Only the runner knows when a job is due, whose turn it
 * is, who has its lease, and what happens after a failure. A kind of job only knows its work.
 */

/** Each tool has a `work in` kind of its own. */
export type JobName =
  | 'active list'
  | 'approvals'
  | 'budget'
  | 'budget sweep'
  | 'contracts'
  | 'feed'
  | 'final reports'
  | 'guidelines'
  | 'payments'
  | `purge ${'answers' | 'deliveries' | 'imports' | 'links' | 'mail counts' | 'notices'}`
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
  /** A run without a beat for this long has stalled; by default the length of the lease. */
  stallMs?: number;
  /** The installs whose jobs run; all by default. `['']` for a job that belongs to no install. */
  installs?(ctx: Context): Iterable<string>;
  /**
   * Whether each of the installs always has one such job, due as soon as the install is new. Other jobs come from
   * `wantJobs`.
   */
  isStanding?: boolean;
  /** A cron pattern in UTC: the kind has one job, which is due at each tick. Several missed ticks are one run. */
  schedule?(ctx: Context): string;
  /** The shortest wait after a failure; 0 by default. */
  restMs?(ctx: Context): number;
  /** What the log says when a run fails. */
  failureMessage?: string;
  /** Whether all jobs of an install wait when the marketplace refuses its token or does not answer. */
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

/** The job of an install, for kinds with one job per install. */
export function jobOf(install: string): JobKey {
  return { key: install, install };
}

/** A kind with a single job, which one process at a time runs for all installs. */
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
  /** How often it was wanted since the last run began. */
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

/** An operator may replace a refused token at any time. */
const refusedRestMs = 15 * 60_000;

/** How long a job waits after it failed so often in a row. */
export function waitAfter(ctx: Context, { restMs, restsTogether }: JobKind, error: AppError, attempts: number): number {
  const isRefused = restsTogether === true && refusesToken(error);
  const waitMs = isRefused ? refusedRestMs : backoffMs(attempts, error.retryAfterMs);
  return Math.max(restMs?.(ctx) ?? 0, waitMs);
}
