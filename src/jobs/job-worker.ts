import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError, concernsAll, toAppError } from '../domain/errors.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { nextTick } from '../lib/days.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { createTurns } from '../lib/turns.ts';
import { type JobHold, type JobKind, type JobName, jobOf, waitAfter } from './job.ts';
import {
  addStandingJobs,
  claimJob,
  type DueTurn,
  holdsJob,
  hurryJobs,
  type JobClaim,
  listDueTurns,
  postponeJob,
  releaseJob,
  renewJob,
  settleJob,
  wantJobs,
} from './job-store.ts';

/** How often missing standing jobs are added. */
const addEveryMs = 60_000;

export interface JobWorker extends Loop {
  /** Makes a standing job due now. Writes only to memory. */
  hurry(kind: JobName, install: string): void;
}

/** Runs the jobs of all kinds when they are due. Each look for them is one query. */
export function createJobWorker(ctx: Context, kinds: readonly JobKind[]): JobWorker {
  const { clock, logger, pollMs } = ctx;
  const ending = new AbortController();
  const queues = new Map(kinds.map((kind) => [kind.name, createQueue(ctx, kind, ending.signal)]));
  const hurried = new Map<JobName, Set<string>>();
  let [added, addedAt] = ['', Number.NEGATIVE_INFINITY];

  async function hurryThem(): Promise<void> {
    for (const [kind, installs] of hurried) {
      hurried.delete(kind);
      await inTransaction(ctx.database, (tx) => hurryJobs(tx, kind, [...installs], toInstant(clock.now())));
    }
  }

  /** The first run is at the next tick. A schedule may have changed since the last start. */
  async function addScheduled(): Promise<void> {
    for (const { name, schedule } of kinds) {
      if (schedule === undefined) continue;
      const dueAt = nextTick(schedule(ctx), clock.now());
      await inTransaction(ctx.database, (tx) => wantJobs(tx, name, [jobOf('')], dueAt));
    }
  }

  async function addMissing(): Promise<void> {
    if (added === '') await addScheduled();
    const standing = kinds.flatMap((kind) => standingJobs(ctx, kind));
    const names = JSON.stringify(standing);
    const now = clock.now();
    if (names === added && now.getTime() - addedAt < addEveryMs) return;
    await addStandingJobs(ctx, standing, toInstant(now));
    [added, addedAt] = [names, now.getTime()];
  }

  const stalled = () => [...queues].flatMap(([name, queue]) => (queue.isHealthy() ? [] : [`(${name})`]));

  const loop = createLoop({
    name: 'jobs',
    pollMs,
    logger,
    clock,
    async run() {
      await addMissing();
      await hurryThem();
      const due = Map.groupBy(await listDueTurns(ctx, toInstant(clock.now())), ({ kind }) => kind);
      for (const [kind, queue] of queues) queue.offer(due.get(kind) ?? []);
      return 'idle';
    },
  });
  return {
    ...loop,
    hurry(kind, install) {
      if (queues.get(kind)?.serves(install) !== true) return;
      const installs = hurried.get(kind) ?? new Set();
      hurried.set(kind, installs.add(install));
      loop.wake();
    },
    async stop() {
      ending.abort();
      await loop.stop();
      await Promise.all([...queues.values()].map((queue) => queue.ended()));
    },
    /** Names the kinds that stall. */
    get name() {
      return [loop.name, ...stalled()].join(' ');
    },
    isHealthy: () => loop.isHealthy() && stalled().length === 0,
  };
}

function standingJobs(ctx: Context, { name: kind, installs, isStanding }: JobKind) {
  if (!isStanding) return [];
  return [...(installs?.(ctx) ?? [])].map((install) => ({ kind, ...jobOf(install) }));
}

/** The jobs of one kind that this process runs. */
function createQueue(ctx: Context, kind: JobKind, signal: AbortSignal) {
  const { clock, logger } = ctx;
  const { name, atOnce, leaseMs, stallMs = leaseMs } = kind;
  const turns = createTurns();
  const underway = new Map<string, { ended: Promise<void>; beatAt: number }>();
  /** The installs with jobs that were due at the last look. */
  const waiting = new Set<string>();
  let served: ReadonlySet<string> | undefined;
  const now = () => clock.now().getTime();

  function fill(): void {
    const free = turns.inOrder([...waiting].filter((install) => !underway.has(install)));
    for (const install of free.slice(0, atOnce - underway.size)) {
      if (signal.aborted) return;
      turns.served(install);
      underway.set(install, { ended: runOne(install), beatAt: now() });
    }
  }

  async function runOne(install: string): Promise<void> {
    const beat = () => {
      const one = underway.get(install);
      if (one !== undefined) one.beatAt = now();
    };
    const hadJob = await runNextJob(ctx, kind, install, signal, beat).catch((error: unknown) => {
      // Its lease runs out, and it is run again.
      logger.error({ err: toAppError(error), kind: name, install }, 'A job could not be begun or settled');
      return false;
    });
    underway.delete(install);
    if (!hadJob) waiting.delete(install);
    fill();
  }

  return {
    /** Jobs of removed installs do not run. */
    offer(due: readonly DueTurn[]) {
      served = kind.installs && new Set(kind.installs(ctx));
      const ours = due.filter(({ install }) => served?.has(install) !== false);
      for (const { install } of ours) waiting.add(install);
      const oldest = Math.min(now(), ...ours.map(({ since }) => Date.parse(since)));
      ctx.metrics.jobDueAge.set({ kind: name }, (now() - oldest) / 1000);
      fill();
    },
    serves: (install: string) => served?.has(install) === true,
    ended: async () => void (await Promise.all([...underway.values()].map(({ ended }) => ended))),
    isHealthy: () => [...underway.values()].every(({ beatAt }) => now() - beatAt < stallMs),
  };
}

/** Runs the job of a kind and install that has been due for the longest time. @returns false if none is due */
export async function runNextJob(
  ctx: Context,
  kind: JobKind,
  install: string,
  signal: AbortSignal,
  beat = () => {},
): Promise<boolean> {
  const { clock } = ctx;
  const leasedUntil = () => instantIn(clock, kind.leaseMs);
  const job = await claimJob(ctx, kind.name, install, { now: toInstant(clock.now()), leasedUntil: leasedUntil() });
  if (job === null) return false;
  const refuseLost = (isHeld: boolean) => {
    if (isHeld) return;
    throw new AppError('unavailable', `${describe(job)} was held for too long, and another process holds it now`);
  };
  let renewedAt = clock.now().getTime();
  let renewing: Promise<void> | undefined;
  const renew = async () => {
    beat();
    refuseLost(await renewJob(ctx, job, leasedUntil()));
    renewedAt = clock.now().getTime();
  };
  const hold: JobHold = {
    beat,
    renew,
    async progress() {
      beat();
      const heldForMs = clock.now().getTime() - renewedAt;
      // Where the clock was set back, the lease has been cut.
      if (heldForMs >= 0 && heldForMs < kind.leaseMs / 3) return;
      // Several steps may run at the same time. One of them renews the lease.
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      await renewing;
    },
    confirm: async (tx) => refuseLost(await holdsJob(tx, job, toInstant(clock.now()))),
  };
  try {
    const waitMs = await kind.run(ctx, job, signal, hold);
    await settleJob(ctx, job, waitMs === null ? null : instantIn(clock, waitMs));
    ctx.metrics.jobs.inc({ kind: kind.name, install, outcome: 'done' });
  } catch (thrown) {
    if (signal.aborted) await releaseJob(ctx, job);
    else await postpone(ctx, kind, job, toAppError(thrown));
  }
  return true;
}

async function postpone(ctx: Context, kind: JobKind, job: JobClaim, error: AppError): Promise<void> {
  const { clock, logger, metrics } = ctx;
  const { key, install, attempts } = job;
  metrics.jobs.inc({ kind: kind.name, install, outcome: 'failed' });
  const level = error.code === 'internal' ? 'error' : 'warn';
  logger[level]({ err: error, kind: kind.name, key, install }, kind.failureMessage ?? 'A job failed');
  await postponeJob(ctx, job, {
    dueAt: instantIn(clock, waitAfter(ctx, kind, error, attempts + 1)),
    failure: maskText(error.message),
    failureCode: error.code,
    failedAt: toInstant(clock.now()),
    holdsOthers: kind.restsTogether === true && concernsAll(error),
  });
}

function describe({ kind, key }: JobClaim): string {
  return key === '' ? `The job ${kind}` : `The job ${kind} of ${key}`;
}
