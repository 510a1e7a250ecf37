import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTransaction, type Transaction } from '../db/database.ts';
import { applyBrake, type BrakeDecision, type BrakeLimits, dependsOnCounts, nothingCounted } from '../domain/brake.ts';
import type { Storage } from '../keys/storage.ts';
import type { Alerts } from '../lib/alerts.ts';
import { chunksOf } from '../lib/chunks.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { withSpan } from '../lib/tracing.ts';
import { clearRemovals } from '../memberships/clearance-store.ts';
import type { AwaitedReadingStore, PassingRemovals } from './awaited-reading-store.ts';
import {
  countDelivered,
  countRemovals,
  type DueMembership,
  dueRemovals,
  holdRemovalsInPlan,
  installsWithRemovalsDue,
  lastPlanAt,
  loadDueRemovals,
  takeBackClearances,
} from './brake-store.ts';

export interface RemovalWorkerDeps extends Storage, Polling {
  /** Keeps other instances from taking in evidence meanwhile. */
  lockEvidence(tx: Transaction): Promise<void>;
  limits: BrakeLimits;
  /** Detects whether there was a silence since the last run. */
  beforeDeciding(): Promise<unknown>;
  /** Holds back removals that must wait for the marketplace to be asked. */
  awaitedReadings: AwaitedReadingStore;
  /** Holds back removals that must wait a little, for example until work was read. */
  mayPass(tx: Transaction, due: readonly DueMembership[], now: Date): Promise<ReadonlySet<number>>;
  /** Whether a tool can take a removed member back. */
  canReturn(tool: string): boolean;
  alerts: Alerts;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
  /** How many removals are looked at in one transaction. */
  mostAtOnce?: number;
  /** Called when a tool must be called. */
  onMembershipDue(): void;
  /** Called when active contracts must be listed. */
  onListWanted(): void;
}

/** Removals that become due in quick succession share one plan instead of hundreds. */
const planEveryMs = 10_000;
/** A transaction with as many takes some ten milliseconds, and others wait for it. */
const usualMostAtOnce = 200;
/** A wake does not begin the next run sooner after one than this many times its length. */
const restPerRun = 4;

/** Stands between due removals and their execution: clears what the brake allows, and holds the rest as a plan. */
export function createRemovalWorker(deps: RemovalWorkerDeps): Loop {
  const { logger, clock } = deps;
  return createLoop({
    name: 'removal',
    pollMs: deps.pollMs,
    restPerRun,
    logger,
    clock,
    async run() {
      await deps.beforeDeciding();
      await brakeDue(deps);
      return 'idle';
    },
  });
}

/** Decides about all removals that are due, one install after the other. */
export async function brakeDue(deps: RemovalWorkerDeps): Promise<void> {
  const installs = await installsWithRemovalsDue(deps, toInstant(deps.clock.now()));
  for (const install of installs) {
    const attributes = { 'gangway.install': install };
    await withSpan('brake removals', { parent: null, attributes }, () => brake(deps, install));
  }
}

interface BrakeResult {
  cleared: BrakeDecision['cleared'];
  held: number;
  planId: number | null;
  isListWanted: boolean;
}

async function brake(deps: RemovalWorkerDeps, install: string): Promise<void> {
  const { clock, metrics, alerts } = deps;
  const due = await dueRemovals(deps, install, toInstant(clock.now()));
  const toHold = await findHeld(deps, install, due);
  const mostAtOnce = deps.mostAtOnce ?? usualMostAtOnce;
  const ready = due.length > mostAtOnce ? await findReady(deps, install, chunksOf(due, mostAtOnce), toHold) : due;
  if (ready.length === 0) return;
  const decided = await inEvidence(deps, (tx) => decide(deps, tx, install, ready, toHold));
  const { cleared, held, planId, isListWanted } = decided;
  for (const { clearance } of cleared) metrics.removalDecisions.inc({ install, clearance });
  if (cleared.length > 0) deps.onMembershipDue();
  if (isListWanted) deps.onListWanted();
  if (planId === null) return;
  metrics.removalDecisions.inc({ install, clearance: 'held' }, held);
  alerts.raise(
    'removals_held',
    { install, plan: planId, held },
    `Removals are held by the brake: look at them with "gangway plans show ${planId}", then approve or reject`,
  );
}

/** No work is read for these before an operator approves them: it would delay the removals of other installs. */
async function findHeld(deps: RemovalWorkerDeps, install: string, ids: readonly number[]): Promise<Set<number>> {
  const { kysely } = deps.database;
  const due = await loadDueRemovals(kysely, install, ids, toInstant(deps.clock.now()));
  const { held } = await askBrake(deps, kysely, install, due);
  return new Set(held.map(({ membershipId }) => membershipId));
}

async function askBrake(
  ctx: RemovalWorkerDeps,
  tx: Transaction,
  install: string,
  due: readonly DueMembership[],
): Promise<BrakeDecision> {
  const now = ctx.clock.now();
  const removals = due.map(({ tool, ...removal }) => ({ ...removal, canReturn: ctx.canReturn(tool) }));
  const delivered = await countDelivered(tx, install, now);
  const isCounted = dependsOnCounts(removals, delivered, ctx.limits);
  const counts = isCounted ? await countRemovals(tx, install, now) : { ...nothingCounted, delivered };
  return applyBrake(removals, counts, ctx.limits);
}

/** Most of many removals wait for something. They are looked at in parts, and other work comes between these. */
async function findReady(
  deps: RemovalWorkerDeps,
  install: string,
  parts: Iterable<number[]>,
  toHold: ReadonlySet<number>,
): Promise<number[]> {
  const ready: number[] = [];
  let isListWanted = false;
  for (const part of parts) {
    const passing = await inEvidence(deps, (tx) => awaitReadings(deps, tx, install, part, toHold));
    ready.push(...passing.due.map(({ membershipId }) => membershipId));
    isListWanted ||= passing.isListWanted;
    await nextTurn();
  }
  if (isListWanted) deps.onListWanted();
  return ready;
}

/** Derivation must not change memberships between what is read and what is written. */
async function inEvidence<T>(
  { database, lockEvidence }: RemovalWorkerDeps,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return await inTransaction(database, async (tx) => {
    await lockEvidence(tx);
    return await work(tx);
  });
}

/** @returns those that wait for nothing (any more) */
async function awaitReadings(
  ctx: RemovalWorkerDeps,
  tx: Transaction,
  install: string,
  ids: readonly number[],
  toHold: ReadonlySet<number>,
): Promise<PassingRemovals> {
  const now = ctx.clock.now();
  const all = await loadDueRemovals(tx, install, ids, toInstant(now));
  const read = await ctx.awaitedReadings.afterReading(tx, all, now);
  const toRemove = read.map((one) => one.due).filter(({ membershipId }) => !toHold.has(membershipId));
  const passing = await ctx.mayPass(tx, toRemove, now);
  const ready = read.filter(({ due: { membershipId } }) => passing.has(membershipId) || toHold.has(membershipId));
  return await ctx.awaitedReadings.afterLists(tx, ready, now);
}

async function decide(
  deps: RemovalWorkerDeps,
  tx: Transaction,
  install: string,
  ids: readonly number[],
  toHold: ReadonlySet<number>,
): Promise<BrakeResult> {
  const { clock } = deps;
  const now = clock.now();
  const { due, isListWanted } = await awaitReadings(deps, tx, install, ids, toHold);
  if (due.length === 0) return { cleared: [], held: 0, planId: null, isListWanted };
  const decision = await askBrake(deps, tx, install, due);
  const { held, exceeded } = decision;
  // Since the first question fewer are due, so the brake would clear these. The next run has their work read first.
  const cleared = decision.cleared.filter(({ removal }) => !toHold.has(removal.membershipId));
  const holds = held.length > 0 && !(await hasJustPlanned(tx, install, now));
  const takenBack = holds ? await takeBackClearances(tx, install, exceeded, now) : [];
  await clearRemovals(tx, install, cleared, toInstant(now));
  if (!holds) return { cleared, held: 0, planId: null, isListWanted };
  const planned = [...held, ...takenBack];
  const planId = await holdRemovalsInPlan(tx, install, planned, toInstant(now));
  return { cleared, held: planned.length, planId, isListWanted };
}

/** The removals stay due meanwhile, and nothing clears them. */
async function hasJustPlanned(tx: Transaction, install: string, now: Date): Promise<boolean> {
  const lastAt = await lastPlanAt(tx, install);
  return lastAt !== null && now.getTime() - Date.parse(lastAt) < planEveryMs;
}
