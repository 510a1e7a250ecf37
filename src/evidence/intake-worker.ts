import { setTimeout as wait } from 'node:timers/promises';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { type AppError, toAppError } from '../domain/errors.ts';
import type { DueDelivery } from '../inbox/due-store.ts';
import type { InboxStore } from '../inbox/inbox-store.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { type ApplyDeps, applyEvidence, maxContractsAtOnce } from './apply-evidence.ts';
import { type Held, keyOf, reasonOf } from './hold-evidence.ts';
import { collect, type ReadDelivery, readDelivery } from './read-delivery.ts';
import type { ReadRequestStore } from './read-request-store.ts';
import type { ReportEvidence } from './report-evidence.ts';

export interface IntakeDeps extends ApplyDeps, Polling {
  database: Database;
  inbox: InboxStore;
  readRequests: ReadRequestStore;
  /** Asks for whole installs to be read, in the transaction that takes in why. */
  wantInstallRead(tx: Transaction, installs: string[], now: string): Promise<void>;
  report: ReportEvidence;
  /** An event that was older than this when it came gives nobody access by itself. */
  staleAfterMs: number;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
  /** Whether deliveries are being stored right now. */
  isReceiverBusy(): boolean;
  /** Called when there is something to be done in a tool. */
  onMembershipDue(): void;
  /** Called when there is something for the brake to look at. */
  onRemovalDue(): void;
  /** Called when there is something to be asked of the marketplace. */
  onReadWanted(): void;
}

/** Small enough for a transaction to stay well under 50 ms. */
const batchSize = 50;
/** After this many failures, about an hour, a delivery waits for a repeat or for `replay`. */
const maxAttempts = 12;
/** So many came in since the last turn that requests must be queueing. */
const manyAtOnce = 10;
/** A twentieth of the time: enough not to stand still, and too little to be felt. */
const restFactor = 19;
const longestRestMs = 500;
/**
 * A batch that takes longer is followed by a breath as long, in which others have the database: else
 * somebody's hire would wait for a batch at each of its many steps.
 */
const unfeltMs = 4;
const breathMs = 50;
/** In a rest, what others send is seen after this long. */
const lookEveryMs = 25;

/** Turns stored deliveries into evidence, once each: both are one transaction. */
export function createIntakeWorker(deps: IntakeDeps): Loop {
  const { logger, clock, inbox, memberships } = deps;
  return createLoop({
    name: 'intake',
    pollMs: deps.pollMs,
    logger,
    clock,
    async run(signal) {
      const now = toInstant(clock.now());
      const isNeeded = (await inbox.hasDue(now)) || (await memberships.hasPostponed());
      if (!isNeeded) return 'idle';
      const beganAt = performance.now();
      const { count, installs } = await takeBatch(deps);
      const tookMs = performance.now() - beganAt;
      if (count >= manyAtOnce && deps.isReceiverBusy()) await giveWay(tookMs, installs, signal);
      else if (tookMs > unfeltMs) await wait(Math.min(tookMs, breathMs), undefined, { signal });
      // What is due by then is looked for before anything else is done.
      return 'more';
    },
  });

  /**
   * While many come in, most of the time is theirs: what is stored can wait longer. But not what
   * somebody else sends meanwhile, whose turn would be next.
   */
  async function giveWay(tookMs: number, but: ReadonlySet<string>, signal: AbortSignal) {
    const until = performance.now() + Math.min(tookMs * restFactor, longestRestMs);
    for (let left = until - performance.now(); left > 0; left = until - performance.now()) {
      await wait(Math.min(left, lookEveryMs), undefined, { signal });
      if (await inbox.hasDue(toInstant(clock.now()), but)) return;
    }
  }
}

interface Taken {
  /** How many deliveries were looked at. */
  count: number;
  /** Whose they were. */
  installs: ReadonlySet<string>;
}

async function takeBatch(deps: IntakeDeps): Promise<Taken> {
  try {
    return await takeDue(deps, (tx, now) => deps.inbox.due(tx, now, batchSize));
  } catch (error) {
    if (toAppError(error).code === 'unavailable') throw error;
    // One delivery spoils its batch: taken one at a time, it is found and does not hold up others.
    return await takeSingly(deps);
  }
}

async function takeSingly(deps: IntakeDeps): Promise<Taken> {
  const { database, inbox, clock } = deps;
  const batch = await inbox.due(database.kysely, toInstant(clock.now()), batchSize);
  for (const delivery of batch) {
    try {
      await takeDue(deps, (tx, now) => inbox.dueById(tx, now, delivery.id));
    } catch (error) {
      const failure = toAppError(error);
      // That the database is away is the fault of no delivery, and none is to be given up for it.
      if (failure.code === 'unavailable') throw failure;
      await putOff(deps, delivery, failure);
    }
  }
  return { count: batch.length, installs: new Set(batch.map(({ install }) => install)) };
}

async function putOff(deps: IntakeDeps, delivery: DueDelivery, error: AppError): Promise<void> {
  const { inbox, logger, metrics, clock } = deps;
  const { id, install, attempts } = delivery;
  const isLast = attempts + 1 >= maxAttempts;
  metrics.intakes.inc({ outcome: 'failed' });
  logger.error({ err: error, delivery: id, install, isLast }, 'A delivery could not be handled');
  await inbox.postpone(id, error.message, isLast ? null : instantIn(clock, backoffMs(attempts + 1)));
}

async function takeDue(
  deps: IntakeDeps,
  choose: (tx: Transaction, now: string) => Promise<DueDelivery[]>,
): Promise<Taken> {
  const { database, inbox, metrics, clock } = deps;
  const now = toInstant(clock.now());
  const taken = await inTransaction(database, async (tx) => {
    await deps.evidence.lock(tx);
    const due = (await choose(tx, now)).map((one) => readDelivery(inbox, one, deps.staleAfterMs));
    const batch = await withinBounds(deps, tx, due);
    const { evidence, toRead, installs, named } = collect(batch);
    const applied = await applyEvidence(deps, tx, evidence, now, named);
    await deps.readRequests.request(tx, toRead, now);
    await deps.wantInstallRead(tx, installs, now);
    await settleAll(inbox, tx, batch, applied.held);
    return { ...applied, batch, isReadWanted: toRead.length + installs.length > 0 };
  });
  const { batch, changed, held } = taken;
  metrics.intakes.inc({ outcome: 'handled' }, batch.length);
  deps.report(changed, held);
  if (taken.isDue) deps.onMembershipDue();
  if (taken.isRemovalDue) deps.onRemovalDue();
  if (taken.isReadWanted) deps.onReadWanted();
  return { count: batch.length, installs: new Set(batch.map(({ install }) => install)) };
}

/** The first of them, for whose people one transaction has room; but always one. */
async function withinBounds(
  { memberships }: IntakeDeps,
  tx: Transaction,
  due: ReadDelivery[],
): Promise<ReadDelivery[]> {
  const trainers = due.flatMap(({ named }) => named.map(({ trainerId }) => trainerId));
  const counts = await memberships.countContracts(tx, [...new Set(trainers)]);
  let room = maxContractsAtOnce;
  return due.filter(({ named }, index) => {
    for (const { trainerId } of named) room -= counts.get(trainerId) ?? 0;
    return index === 0 || room >= 0;
  });
}

/** One of which something is held waits, as failed, until there is room for it. */
async function settleAll(
  inbox: InboxStore,
  tx: Transaction,
  batch: readonly ReadDelivery[],
  held: readonly Held[],
): Promise<void> {
  const reasons = new Map(held.map((one) => [keyOf(one), reasonOf(one)]));
  const handled: number[] = [];
  for (const { id, evidence, unread } of batch) {
    const rows = [...evidence.participations, ...evidence.pairs];
    const [reason] = rows.flatMap((row) => reasons.get(keyOf(row)) ?? []);
    if (unread !== null) await inbox.settleUnread(tx, id, unread);
    else if (reason !== undefined) await inbox.refuse(tx, id, reason);
    else handled.push(id);
  }
  if (handled.length > 0) await inbox.settle(tx, handled);
}
