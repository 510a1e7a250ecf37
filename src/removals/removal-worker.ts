import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context, Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { applyBrake, type BrakeDecision, dependsOnCounts, nothingCounted } from '../domain/brake.ts';
import { toInstant } from '../lib/clock.ts';
import { chunksOf } from '../lib/lists.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { clearRemovals, takeBackRemovals } from '../memberships/clearance-store.ts';
import { lockEvidence } from '../memberships/derivation-store.ts';
import { canReturn } from '../tools/accounts.ts';
import {
  countDelivered,
  countRemovals,
  type DueMembership,
  dueRemovals,
  findUnstarted,
  holdRemovalsInPlan,
  installsWithRemovalsDue,
  lastPlanAt,
  loadDueRemovals,
} from './brake-store.ts';
import { passReadings, type ReadingPorts } from './reading-store.ts';

/** Parts that the worker must not import. */
export interface RemovalPorts extends ReadingPorts {
  /** Detects whether there was a silence since the last run. */
  beforeDeciding(): Promise<unknown>;
  /** How many removals one transaction checks. */
  mostAtOnce?: number;
}

/** Removals that become due in quick succession share one plan instead of hundreds. */
const planEveryMs = 10_000;
/** A transaction with so many takes about ten milliseconds, while others wait for it. */
const usualMostAtOnce = 200;
/** After a run the worker rests for this many times its length, even if it is woken. */
const restPerRun = 4;

/** Clears the due removals that the brake allows, and holds the rest in a plan. */
export function createRemovalWorker(ctx: Context, ports: RemovalPorts): Loop {
  return createLoop({
    ...ctx,
    name: 'removal',
    restPerRun,
    async run() {
      await ports.beforeDeciding();
      await brakeDue(ctx, ports);
      return 'idle';
    },
  });
}

/** Decides about all due removals, install by install. */
export async function brakeDue(ctx: Context, ports: RemovalPorts): Promise<void> {
  const installs = await installsWithRemovalsDue(ctx, toInstant(ctx.clock.now()));
  for (const install of installs) await brake(ctx, ports, install);
}

async function brake(ctx: Context, ports: RemovalPorts, install: string): Promise<void> {
  const { clock, logger, metrics } = ctx;
  const { mostAtOnce = usualMostAtOnce } = ports;
  const due = await dueRemovals(ctx, install, toInstant(clock.now()));
  const toHold = await findHeld(ctx, install, due);
  const ready = due.length > mostAtOnce ? await findReady(ctx, ports, install, chunksOf(due, mostAtOnce), toHold) : due;
  if (ready.length === 0) return;
  const { cleared, held, planId, isListWanted } = await inEvidence(ctx, (tx) =>
    decide(ctx, ports, tx, install, ready, toHold),
  );
  for (const { clearance } of cleared) metrics.removalDecisions.inc({ install, clearance });
  if (cleared.length > 0) ctx.wake('memberships');
  if (isListWanted) ctx.wake('jobs');
  if (planId === null) return;
  metrics.removalDecisions.inc({ install, clearance: 'held' }, held);
  logger.warn({ install, plan: planId, held }, 'The brake holds removals');
}

/**
 * The removals that the brake would hold. Their work is not read yet, which would delay the removals of other installs.
 */
async function findHeld(ctx: Context, install: string, ids: readonly number[]): Promise<Set<number>> {
  const { kysely } = ctx.database;
  const due = await loadDueRemovals(kysely, install, ids, toInstant(ctx.clock.now()));
  const { held } = await askBrake(ctx, kysely, install, due);
  return new Set(held.map(({ membershipId }) => membershipId));
}

async function askBrake(
  ctx: Context,
  tx: Transaction,
  install: string,
  due: readonly DueMembership[],
): Promise<BrakeDecision> {
  const now = ctx.clock.now();
  const limits = ctx.config.removals;
  const removals = due.map(({ tool, ...removal }) => ({ ...removal, canReturn: canReturn(ctx, tool) }));
  const delivered = await countDelivered(tx, install, now);
  const isCounted = dependsOnCounts(removals, delivered, limits);
  const counts = isCounted ? await countRemovals(tx, install, now) : { ...nothingCounted, delivered };
  return applyBrake(removals, counts, limits);
}

/** Checks many removals in parts, because most of them must wait. Other work gets its turn between the parts. */
async function findReady(
  ctx: Context,
  ports: RemovalPorts,
  install: string,
  parts: Iterable<number[]>,
  toHold: ReadonlySet<number>,
): Promise<number[]> {
  const ready: number[] = [];
  let isListWanted = false;
  for (const part of parts) {
    const passing = await inEvidence(ctx, (tx) => passReadings(ctx, tx, install, part, ports, toHold));
    ready.push(...passing.due.map(({ membershipId }) => membershipId));
    isListWanted ||= passing.isListWanted;
    await nextTurn();
  }
  if (isListWanted) ctx.wake('jobs');
  return ready;
}

/** Derivation must not change memberships between the read and the write. */
async function inEvidence<T>(ctx: Storage, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return await inTransaction(ctx.database, async (tx) => {
    await lockEvidence(ctx, tx);
    return await work(tx);
  });
}

async function decide(
  ctx: Context,
  ports: RemovalPorts,
  tx: Transaction,
  install: string,
  ids: readonly number[],
  toHold: ReadonlySet<number>,
): Promise<{ cleared: BrakeDecision['cleared']; held: number; planId: number | null; isListWanted: boolean }> {
  const now = ctx.clock.now();
  const { due, isListWanted } = await passReadings(ctx, tx, install, ids, ports, toHold);
  if (due.length === 0) return { cleared: [], held: 0, planId: null, isListWanted };
  const decision = await askBrake(ctx, tx, install, due);
  const { held, exceeded } = decision;
  // Fewer removals are due than before, so the brake would clear these. Their work is read first, in the next run.
  const cleared = decision.cleared.filter(({ removal }) => !toHold.has(removal.membershipId));
  const holds = held.length > 0 && !(await hasJustPlanned(tx, install, now));
  // Everything beyond the limit is held together.
  const takenBack = holds ? await findUnstarted(tx, install, exceeded, now) : [];
  if (takenBack.length > 0) await takeBackRemovals(tx, takenBack);
  await clearRemovals(tx, install, cleared, toInstant(now));
  if (!holds) return { cleared, held: 0, planId: null, isListWanted };
  const planned = [...held, ...takenBack];
  const planId = await holdRemovalsInPlan(tx, install, planned, toInstant(now));
  return { cleared, held: planned.length, planId, isListWanted };
}

/** Until then these removals stay due, and nothing clears them. */
async function hasJustPlanned(tx: Transaction, install: string, now: Date): Promise<boolean> {
  const lastAt = await lastPlanAt(tx, install);
  return lastAt !== null && now.getTime() - Date.parse(lastAt) < planEveryMs;
}
