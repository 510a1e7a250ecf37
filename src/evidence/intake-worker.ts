import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { type AppError, toAppError } from '../domain/errors.ts';
import {
  type DueDelivery,
  dueDeliveries,
  dueDeliveryById,
  hasDueDeliveries,
  postponeDelivery,
  settleDeliveries,
} from '../inbox/inbox-store.ts';
import { hurryJobs } from '../jobs/job-store.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { backoffMs } from '../lib/retry.ts';
import { countContractsOf, hasPostponed, lockEvidence } from '../memberships/derivation-store.ts';
import {
  applyEvidence,
  describeHold,
  evidenceKey,
  type HeldEvidence,
  maxContractsAtOnce,
  reportHeld,
} from './apply-evidence.ts';
import { collectDeliveries, type ReadDelivery, readDelivery } from './read-delivery.ts';
import { requestReads } from './read-request-store.ts';

/** Waits. @returns the share of that time, 0 to 1, in which this thread had other work */
export type Rest = (ms: number, signal: AbortSignal) => Promise<number>;

export const restBesideOthers: Rest = async (ms, signal) => {
  const before = performance.eventLoopUtilization();
  await wait(ms, undefined, { signal });
  return performance.eventLoopUtilization(before).utilization;
};

/** Parts that intake must not import. */
export interface IntakePorts {
  /** Requests a reading of whole installs, in the transaction that takes in the event. */
  wantInstallRead(tx: Transaction, installs: string[], now: string): Promise<void>;
  /** Whether deliveries are being stored right now. */
  isReceiverBusy(): boolean;
  rest?: Rest;
}

/** Keeps a transaction well under 50 ms. */
const batchSize = 50;
/** After this many failures, about an hour, a delivery waits for a repeat or for `replay`. */
const maxAttempts = 12;
/** A batch of this size means that requests are probably queueing. */
const manyAtOnce = 10;
/** A longer rest checks this often for deliveries of other installs. */
const checkEveryMs = 25;

/** The share of the thread that other work used is averaged over about this time. */
const rememberedMs = 200;

/** Turns stored deliveries into evidence, exactly once: a delivery is settled in the same transaction. */
export function createIntakeWorker(ctx: Context, ports: IntakePorts): Loop {
  const { clock } = ctx;
  const { isReceiverBusy, rest: restNow = restBesideOthers } = ports;
  let usedByOthers = 0;
  let isBehind = false;

  async function rest(ms: number, signal: AbortSignal): Promise<void> {
    const used = await restNow(ms, signal);
    const weight = Math.min(1, ms / rememberedMs);
    usedByOthers += (used - usedByOthers) * weight;
  }

  return createLoop({
    ...ctx,
    name: 'intake',
    async run(signal) {
      const now = toInstant(clock.now());
      const isNeeded = (await hasDueDeliveries(ctx, now)) || (await hasPostponed(ctx));
      if (!isNeeded) return 'idle';
      const beganAt = performance.now();
      const { count, installs, oldestAt } = await takeBatch(ctx, ports);
      const tookMs = performance.now() - beganAt;
      const waitedMs = Date.parse(now) - Date.parse(oldestAt ?? now);
      const isCrowded = count >= manyAtOnce && isReceiverBusy();
      isBehind = isStillBehind(isBehind, isCrowded, waitedMs);
      const restMs = decideRest({ tookMs, isCrowded, usedByOthers, isBehind });
      if (isCrowded) await yieldToReceiver(restMs, installs, signal);
      else if (restMs > 0) await rest(restMs, signal);
      // Check for due deliveries before anything else.
      return 'more';
    },
  });

  /** Rests, but no longer than until other installs have deliveries, because it is their turn. */
  async function yieldToReceiver(ms: number, but: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const until = performance.now() + ms;
    for (let left = ms; left > 0; left = until - performance.now()) {
      await rest(Math.min(left, checkEveryMs), signal);
      if (await hasDueDeliveries(ctx, toInstant(clock.now()), but)) return;
    }
  }
}

interface IntakeBatch {
  /** The number of deliveries in the batch. */
  count: number;
  /** The installs of these deliveries. */
  installs: ReadonlySet<string>;
  /** When the oldest of them was received. */
  oldestAt: string | undefined;
}

async function takeBatch(ctx: Context, ports: IntakePorts): Promise<IntakeBatch> {
  try {
    return await takeDue(ctx, ports, (tx, now) => dueDeliveries(ctx, tx, now, batchSize));
  } catch (error) {
    if (toAppError(error).code === 'unavailable') throw error;
    // One delivery may fail the whole batch. One by one, it holds up no other.
    return await takeOneByOne(ctx, ports);
  }
}

async function takeOneByOne(ctx: Context, ports: IntakePorts): Promise<IntakeBatch> {
  const { database, clock } = ctx;
  const batch = await dueDeliveries(ctx, database.kysely, toInstant(clock.now()), batchSize);
  for (const delivery of batch) {
    try {
      await takeDue(ctx, ports, (tx, now) => dueDeliveryById(tx, now, delivery.id));
    } catch (error) {
      const failure = toAppError(error);
      // An unavailable database is not the delivery's fault.
      if (failure.code === 'unavailable') throw failure;
      await handleLater(ctx, delivery, failure);
    }
  }
  return toIntakeBatch(batch);
}

function toIntakeBatch(batch: readonly Pick<DueDelivery, 'install' | 'receivedAt'>[]): IntakeBatch {
  const [oldestAt] = batch.map(({ receivedAt }) => receivedAt).toSorted();
  return { count: batch.length, installs: new Set(batch.map(({ install }) => install)), oldestAt };
}

async function handleLater(ctx: Context, delivery: DueDelivery, error: AppError): Promise<void> {
  const { logger, metrics, clock } = ctx;
  const { id, install, attempts } = delivery;
  const isLast = attempts + 1 >= maxAttempts;
  metrics.intakes.inc({ outcome: 'failed' });
  logger.error({ err: error, delivery: id, install, isLast }, 'A delivery could not be handled');
  await postponeDelivery(ctx, id, error.message, isLast ? null : instantIn(clock, backoffMs(attempts + 1)));
}

async function takeDue(
  ctx: Context,
  ports: IntakePorts,
  choose: (tx: Transaction, now: string) => Promise<DueDelivery[]>,
): Promise<IntakeBatch> {
  const { database, config, metrics, clock } = ctx;
  const now = toInstant(clock.now());
  const taken = await inTransaction(database, async (tx) => {
    await lockEvidence(ctx, tx);
    const due = (await choose(tx, now)).map((one) => readDelivery(ctx, one, config.retention.deliveriesMs));
    const batch = await withinBounds(tx, due);
    const { evidence, toRead, installs, ofPayments, named } = collectDeliveries(batch);
    const applied = await applyEvidence(ctx, tx, evidence, now, named);
    await requestReads(tx, toRead, now);
    await ports.wantInstallRead(tx, installs, now);
    await hurryJobs(tx, 'payments', ofPayments, now);
    await settleAll(tx, batch, applied.held);
    return { ...applied, batch, isReadWanted: toRead.length + installs.length > 0 };
  });
  const { batch, held } = taken;
  metrics.intakes.inc({ outcome: 'handled' }, batch.length);
  reportHeld(ctx, held);
  if (taken.isDue) ctx.wake('memberships');
  if (taken.isRemovalDue) ctx.wake('removals');
  if (taken.isReadWanted) ctx.wake('jobs');
  return toIntakeBatch(batch);
}

/** As many of these deliveries as fit into one transaction, but at least one. */
async function withinBounds(tx: Transaction, due: ReadDelivery[]): Promise<ReadDelivery[]> {
  const trainers = due.flatMap(({ named }) => named.map(({ trainerId }) => trainerId));
  const counts = await countContractsOf(tx, [...new Set(trainers)]);
  let room = maxContractsAtOnce;
  return due.filter(({ named }, index) => {
    for (const { trainerId } of named) room -= counts.get(trainerId) ?? 0;
    return index === 0 || room >= 0;
  });
}

/** A delivery with held evidence has failed. A repeat or a replay takes it in when there is room. */
async function settleAll(
  tx: Transaction,
  batch: readonly ReadDelivery[],
  held: readonly HeldEvidence[],
): Promise<void> {
  const reasons = new Map(held.map((one) => [evidenceKey(one), describeHold(one)]));
  const handled: number[] = [];
  for (const { id, evidence, unread } of batch) {
    const rows = [...evidence.participations, ...evidence.pairs];
    const [failure] = rows.flatMap((row) => reasons.get(evidenceKey(row)) ?? []);
    if (unread !== null) await settleDeliveries(tx, [id], unread);
    else if (failure !== undefined) await settleDeliveries(tx, [id], { state: 'failed', failure });
    else handled.push(id);
  }
  if (handled.length > 0) await settleDeliveries(tx, handled);
}

/** A batch of intake, and the work that it competes with. */
interface BatchTiming {
  tookMs: number;
  /** Whether requests are probably queueing to be stored. */
  isCrowded: boolean;
  /** The share of the thread that other work used while intake rested, 0 to 1. */
  usedByOthers: number;
  /** Whether intake has fallen behind and not caught up yet. */
  isBehind: boolean;
}

/**
 * After a batch that takes longer than this, intake pauses for as long as the batch took, so that other work gets the
 * database. Otherwise each of the many steps of a hire would wait for a batch.
 */
const pauseAfterMs = 4;
const maxPauseMs = 50;
/**
 * While requests are queueing, the pause is this many times as long, multiplied by the ratio of the thread's time that
 * other work uses to the time that it leaves. If other work uses more than about 60 %, intake gets a twentieth of the
 * time: it makes progress, and the receiver is hardly slower. A slow disk alone is no reason to pause: the thread is
 * idle while a commit waits for it, and stored deliveries would pile up.
 */
const crowdedFactor = 12;
const maxCrowdedFactor = 19;
const maxCrowdedMs = 500;
/**
 * In a burst, requests are answered first. In a lasting flood people must not wait: once a delivery has been stored for
 * longer than this, intake gets a third of the time until no request queues. Otherwise it could lag as long as
 * deliveries arrive, though the thread has time for both.
 */
const longestWaitMs = 5000;
const overdueFactor = 2;

/** For how many milliseconds intake rests after a batch. Pure. */
export function decideRest({ tookMs, isCrowded, usedByOthers, isBehind }: BatchTiming): number {
  const pauseMs = Math.min(tookMs, maxPauseMs);
  if (!isCrowded) return tookMs > pauseAfterMs ? pauseMs : 0;
  const most = isBehind ? overdueFactor : maxCrowdedFactor;
  const factor = Math.min((crowdedFactor * usedByOthers) / (1 - usedByOthers), most);
  return Math.max(pauseMs, Math.min(tookMs * factor, maxCrowdedMs));
}

/** @param waitedMs how long the oldest delivery of the batch had been stored */
export function isStillBehind(wasBehind: boolean, isCrowded: boolean, waitedMs: number): boolean {
  return isCrowded && (wasBehind || waitedMs > longestWaitMs);
}
