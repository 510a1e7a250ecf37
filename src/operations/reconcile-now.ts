import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { countDueResets } from '../converge/reset-store.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { emptyEvidence } from '../domain/evidence.ts';
import { outcomeOfRun, type RunNumbers } from '../domain/run.ts';
import { applyEvidence } from '../evidence/apply-evidence.ts';
import { runNextJob } from '../jobs/job-worker.ts';
import { instantIn, toInstant, type WatchedClock } from '../lib/clock.ts';
import { sayCount } from '../lib/text.ts';
import { toDurationMs } from '../lib/units.ts';
import { hasPostponed, lockEvidence } from '../memberships/derivation-store.ts';
import { retryFailedOfInstalls } from '../memberships/membership-store.ts';
import { checkOrphans } from '../memberships/orphan-store.ts';
import { mendAfterSetBack } from '../reconcile/read/clock-worker.ts';
import { findInstallState, wantRead } from '../reconcile/read/install-state-store.ts';
import { reconcileJob } from '../reconcile/runs/reconcile-install.ts';
import {
  countRunWork,
  endRun,
  type ListedRun,
  lastReceiptId,
  listOpenRuns,
  listRuns,
  openPlanOf,
  type RunWork,
  type Since,
} from '../reconcile/runs/run-store.ts';
import { checkSilence, createAliveWorker } from '../reconcile/runs/silence.ts';
import type { Call } from './operation.ts';
import { maybeText, named, outcome, runCounts } from './values.ts';

/** The outcome of reconciling one install. */
export const Reconciled = named('Reconciled', {
  install: z.string(),
  outcome,
  ...runCounts,
  plan: z.int().nullable().describe('The open plan with the removals that wait.'),
  failure: maybeText,
});

export type Reconciled = z.output<typeof Reconciled>;

/** How long an act waits, and the loops that run meanwhile: the brake and the converge workers. */
export interface Patience extends Pick<Call, 'loops' | 'signal' | 'onProgress'> {
  /** How long to wait at most until nothing is left. */
  waitMs: number;
}

export function patienceOf({ loops, signal, onProgress }: Call, wait: string): Patience {
  return { loops, signal, onProgress, waitMs: toDurationMs(wait) ?? 0 };
}

/** How many installs are read at the same time. */
const readsAtOnce = 4;
const lookEveryMs = 100;

/**
 * Reads installs completely and acts on the result now. Running instances may take part of the work.
 *
 * @param acceptsOrphans whether to go on although the configuration no longer covers some members
 * @throws AppError `conflict` if the configuration no longer covers members in a tool
 */
export async function reconcileNow(
  ctx: Context & { clock: WatchedClock },
  installs: readonly string[],
  patience: Patience,
  acceptsOrphans = false,
): Promise<Reconciled[]> {
  await checkOrphans(ctx, acceptsOrphans);
  await mendAfterSetBack(ctx, ctx.clock.takeLatest().getTime());
  const since = { at: toInstant(ctx.clock.now()), afterReceipt: await lastReceiptId(ctx) };
  // During the reading, which may take hours, this process is a running instance.
  const alive = createAliveWorker(ctx);
  await checkSilence(ctx);
  alive.start();
  try {
    return await reconcileAll(ctx, installs, since, patience);
  } finally {
    await alive.stop();
  }
}

async function reconcileAll(
  ctx: Context,
  installs: readonly string[],
  since: Since,
  patience: Patience,
): Promise<Reconciled[]> {
  // A tool that refused may work by now, and the operator should not wait an hour for the next attempt.
  await inTransaction(ctx.database, (tx) => retryFailedOfInstalls(tx, installs, since.at));
  const failures = await readNow(ctx, installs, patience);
  const work = await doWork(ctx, installs, since, patience);
  for (const run of await listOpenRuns(ctx)) {
    const done = work.get(run.install);
    const isOurs = run.readAt !== null && run.beganAt >= since.at;
    if (done !== undefined && isOurs) await endRun(ctx, run.id, done, toInstant(ctx.clock.now()));
  }
  return [...work].map(([install, { plan, left, ...numbers }]) => {
    const failure = failures.get(install);
    const outcome = failure === undefined ? outcomeOfRun(numbers, left) : 'failed';
    return { install, plan, outcome, ...numbers, failure: failure ?? sayUnfinished(numbers, left) };
  });
}

function sayUnfinished({ failed }: RunNumbers, left: number): string | null {
  if (failed > 0) return `${sayCount(failed, 'membership')} could not be synced with the tool`;
  return left > 0 ? `${sayCount(left, 'membership')} not synced in time` : null;
}

/**
 * Reads installs completely, or waits for the instances that already read them.
 *
 * @returns why installs could not be read
 */
export async function readNow(
  ctx: Context,
  installs: readonly string[],
  { signal, onProgress }: Pick<Patience, 'signal' | 'onProgress'>,
): Promise<Map<string, string>> {
  const { database, clock } = ctx;
  const now = toInstant(clock.now());
  await inTransaction(database, (tx) => wantRead(tx, installs, now, 'command'));
  const failures = new Map<string, string>();
  const waiting = [...installs];
  let read = 0;
  async function readOn(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const failure = await readOne(ctx, next, now, signal, onProgress);
      if (failure !== null) failures.set(next, failure);
      read += 1;
      onProgress(`${read} of ${installs.length} installs read`);
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, readOn));
  return failures;
}

/** Reads an install, or waits for the instance that is reading it. @returns why not, or null */
async function readOne(
  ctx: Context,
  install: string,
  wantedAt: string,
  signal: AbortSignal,
  onProgress: Patience['onProgress'],
): Promise<string | null> {
  while (!signal.aborted) {
    onProgress(`Reading ${install} from the marketplace`);
    const isTaken = await runNextJob(ctx, reconcileJob, install, signal);
    const state = await findInstallState(ctx, install);
    if (state?.readBeganAt && state.readBeganAt >= wantedAt) return null;
    if (state !== undefined && state.attempts > 0) return state.failure;
    if (!isTaken) await wait(lookEveryMs, undefined, { signal }).catch(() => undefined);
  }
  return 'Stopped before it was read';
}

const followEveryMs = 500;
/** How many runs of one install can begin between two looks. */
const mostRunsOfAnInstall = 10;

/**
 * Asks the running instances to read these installs, and waits until the tools are in sync or the patience is over. The
 * instances go on in any case.
 */
export async function followRuns(
  ctx: Context,
  by: By,
  installs: readonly string[],
  { waitMs, signal, onProgress }: Pick<Patience, 'waitMs' | 'signal' | 'onProgress'>,
): Promise<Reconciled[]> {
  await inTransaction(ctx.database, async (tx) => {
    await retryFailedOfInstalls(tx, installs, by.at);
    await wantRead(tx, installs, by.at, 'operator');
    await writeAudit(tx, by, 'reconcile', installs.join(', '));
  });
  const until = performance.now() + waitMs;
  for (;;) {
    const found = await findRuns(ctx, installs, by.at);
    const ended = installs.filter((install) => found.get(install)?.endedAt);
    if (ended.length === installs.length || signal.aborted || performance.now() >= until) {
      return await Promise.all(installs.map((install) => toReconciled(ctx, install, found.get(install))));
    }
    onProgress(`${ended.length} of ${installs.length} installs read and synced`);
    await wait(followEveryMs, undefined, { signal }).catch(() => undefined);
  }
}

/** The first run of each install that began since then. */
async function findRuns(ctx: Context, installs: readonly string[], since: string): Promise<Map<string, ListedRun>> {
  const [only, ...others] = installs;
  const install = others.length === 0 ? only : undefined;
  const runs = await listRuns(ctx, { install, limit: mostRunsOfAnInstall * installs.length });
  return new Map(runs.filter(({ beganAt }) => beganAt >= since).map((run) => [run.install, run]));
}

async function toReconciled(ctx: Context, install: string, run: ListedRun | undefined): Promise<Reconciled> {
  if (run === undefined) {
    const failure = 'Not read in time. Gangway reads it as soon as possible';
    return { install, plan: null, added: 0, removed: 0, held: 0, failed: 0, outcome: 'failed', failure };
  }
  const { added, removed, held, failed, outcome, failure, endedAt } = run;
  const plan = held === 0 ? null : await openPlanOf(ctx, install);
  const numbers = { install, plan, added, removed, held, failed };
  if (endedAt !== null) return { ...numbers, outcome: outcome ?? 'failed', failure };
  return { ...numbers, outcome: 'failed', failure: failure ?? 'Not done in time. Gangway goes on with it' };
}

/** The share of the time that counting may take: with a tenth, it took 0.8 s of the 29 s for 10,000 new contracts. */
const lookingPart = 0.02;
/** How long a command may wait for what is done already. */
const longestRestMs = 10_000;

/** For how many milliseconds to rest after a count that took so long, if so much is left of the wait. Pure. */
export function decideLookRest(tookMs: number, leftMs: number): number {
  return Math.min(Math.max(lookEveryMs, tookMs / lookingPart), longestRestMs, leftMs);
}

/**
 * Runs the brake and the converge workers, as an instance does, until nothing is due for these installs or the patience
 * is over.
 *
 * @returns what was done for each install since then, and what is left
 */
export async function doWork(
  ctx: Context,
  installs: readonly string[],
  since: Since,
  patience: Patience,
): Promise<Map<string, RunWork>> {
  // Tools whose shared invitation link is replaced after a removal.
  const resetting = [...ctx.adapters].flatMap(([tool, { resetInvitations }]) => (resetInvitations ? [tool] : []));
  const leftOf = (counted: { work: Map<string, RunWork>; resets: number }) =>
    [...counted.work.values()].reduce((sum, { left }) => sum + left, counted.resets);
  const { work } = await workUntil(ctx, patience, leftOf, async (until) => {
    await deriveAll(ctx, patience.signal);
    const now = toInstant(ctx.clock.now());
    const counted = new Map<string, RunWork>();
    for (const install of installs) counted.set(install, await countRunWork(ctx, install, since, now, until));
    return { work: counted, resets: await countDueResets(ctx, resetting, now) };
  });
  return work;
}

/**
 * The same, for work that the caller counts.
 *
 * @param count gets the deadline. Work that is retried before it is left; later work is not
 */
export async function workUntil<T>(
  { clock }: Context,
  { loops, waitMs, signal, onProgress }: Patience,
  leftOf: (counted: T) => number,
  count: (until: string) => Promise<T>,
): Promise<T> {
  const deadline = clock.now().getTime() + waitMs;
  const until = instantIn(clock, waitMs);
  const isOver = () => signal.aborted || clock.now().getTime() >= deadline;
  let work = await count(until);
  if (leftOf(work) === 0 || isOver()) return work;
  for (const loop of loops) loop.start();
  try {
    let tookMs = 0;
    while (leftOf(work) > 0 && !isOver()) {
      const restMs = decideLookRest(tookMs, deadline - clock.now().getTime());
      await wait(restMs, undefined, { signal }).catch(() => undefined);
      const begunAt = performance.now();
      work = await count(until);
      tookMs = performance.now() - begunAt;
      onProgress(`${sayCount(leftOf(work), 'membership')} left to sync`);
    }
  } finally {
    await Promise.all(loops.map((loop) => loop.stop()));
  }
  return leftOf(work) === 0 ? work : await count(until);
}

/** Derives what did not fit into one transaction. */
async function deriveAll(ctx: Context, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await hasPostponed(ctx))) {
    await inTransaction(ctx.database, async (tx) => {
      await lockEvidence(ctx, tx);
      await applyEvidence(ctx, tx, emptyEvidence(), toInstant(ctx.clock.now()));
    });
  }
}
