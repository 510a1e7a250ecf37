import { setTimeout as wait } from 'node:timers/promises';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { type AppError, toAppError } from '../domain/errors.ts';
import { type Evidence, emptyEvidence } from '../domain/evidence.ts';
import { readEvent } from '../inbox/event-schema.ts';
import type { DueDelivery, InboxStore, Unread } from '../inbox/inbox-store.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { type ApplyDeps, applyEvidence } from './apply-evidence.ts';
import { evidenceOfEvent } from './evidence-of-event.ts';
import type { ReadRequestStore, ReadTarget } from './read-request-store.ts';
import type { ReportEvidence } from './report-evidence.ts';

export interface IntakeDeps extends ApplyDeps {
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
const pollMs = 1000;
/** So many came in since the last turn that requests must be queueing. */
const manyAtOnce = 10;
/** A twentieth of the time: enough not to stand still, and too little to be felt. */
const restFactor = 19;
const longestRestMs = 500;

/** Turns stored deliveries into evidence, once each: both are one transaction. */
export function createIntakeWorker(deps: IntakeDeps): Loop {
  const { logger, clock, inbox, memberships } = deps;
  return createLoop({
    name: 'intake',
    intervalMs: pollMs,
    logger,
    clock,
    async run(signal) {
      const now = toInstant(clock.now());
      const isNeeded = (await inbox.hasDue(now)) || (await memberships.hasPostponed());
      if (!isNeeded) return 'idle';
      const beganAt = performance.now();
      const { count, isMore } = await takeBatch(deps);
      if (count >= manyAtOnce) await giveWay(performance.now() - beganAt, signal);
      return isMore ? 'more' : 'idle';
    },
  });

  /** While many come in, most of the time is theirs: what is stored can wait longer. */
  async function giveWay(tookMs: number, signal: AbortSignal): Promise<void> {
    if (!deps.isReceiverBusy()) return;
    await wait(Math.min(tookMs * restFactor, longestRestMs), undefined, { signal });
  }
}

interface Taken {
  /** How many deliveries were looked at. */
  count: number;
  isMore: boolean;
}

async function takeBatch(deps: IntakeDeps): Promise<Taken> {
  try {
    return await takeDue(deps, batchSize);
  } catch (error) {
    if (toAppError(error).code === 'unavailable') throw error;
    // One delivery spoils its batch: taken one at a time, it is found and does not hold up others.
    return { count: await takeSingly(deps), isMore: true };
  }
}

async function takeSingly(deps: IntakeDeps): Promise<number> {
  for (let count = 0; count < batchSize; count += 1) {
    const [delivery] = await deps.inbox.due(deps.database.kysely, toInstant(deps.clock.now()), 1);
    if (delivery === undefined) return count;
    try {
      await takeDue(deps, 1);
    } catch (error) {
      await putOff(deps, delivery, toAppError(error));
    }
  }
  return batchSize;
}

async function putOff(deps: IntakeDeps, delivery: DueDelivery, error: AppError): Promise<void> {
  const { inbox, logger, metrics, clock } = deps;
  const { id, install, attempts } = delivery;
  const isLast = attempts + 1 >= maxAttempts;
  metrics.intakes.inc({ outcome: 'failed' });
  logger.error({ err: error, delivery: id, install, isLast }, 'A delivery could not be handled');
  await inbox.postpone(
    id,
    error.message,
    isLast ? null : instantIn(clock, backoffMs(attempts + 1)),
  );
}

async function takeDue(deps: IntakeDeps, limit: number): Promise<Taken> {
  const { database, inbox, metrics, clock } = deps;
  const now = toInstant(clock.now());
  const taken = await inTransaction(database, async (tx) => {
    await deps.evidence.lock(tx);
    const deliveries = await inbox.due(tx, now, limit);
    const { evidence, toRead, installs, handled, unread } = collect(deps, deliveries);
    const applied = await applyEvidence(deps, tx, evidence, now);
    await deps.readRequests.request(tx, toRead, now);
    await deps.wantInstallRead(tx, installs, now);
    if (handled.length > 0) await inbox.settle(tx, handled);
    for (const { id, read } of unread) await inbox.settleUnread(tx, id, read);
    return {
      count: deliveries.length,
      ...applied,
      isReadWanted: toRead.length + installs.length > 0,
    };
  });
  metrics.intakes.inc({ outcome: 'handled' }, taken.count);
  deps.report(taken.changed);
  if (taken.isDue) deps.onMembershipDue();
  if (taken.isRemovalDue) deps.onRemovalDue();
  if (taken.isReadWanted) deps.onReadWanted();
  return { count: taken.count, isMore: taken.count === limit || taken.isUnfinished };
}

/** What several deliveries add together. */
function collect({ inbox, staleAfterMs }: IntakeDeps, deliveries: DueDelivery[]) {
  const evidence = emptyEvidence();
  const installs = new Set<string>();
  const toRead = new Map<string, ReadTarget>();
  const handled: number[] = [];
  const unread: { id: number; read: Unread }[] = [];
  for (const delivery of deliveries) {
    const { id, install, receivedAt } = delivery;
    const read = readEvent(inbox.openBody(delivery));
    if (read.outcome !== 'event') {
      unread.push({ id, read });
      continue;
    }
    handled.push(id);
    const added = evidenceOfEvent(install, read.event, receivedAt, staleAfterMs);
    addTo(evidence, added.evidence);
    if (added.isInstallToRead) installs.add(install);
    const contractId = added.contractToRead;
    if (contractId !== null) toRead.set(`${install}/${contractId}`, { install, contractId });
  }
  return { evidence, toRead: [...toRead.values()], installs: [...installs], handled, unread };
}

function addTo(evidence: Evidence, added: Evidence): void {
  evidence.contracts.push(...added.contracts);
  evidence.links.push(...added.links);
  evidence.grants.push(...added.grants);
  evidence.pairs.push(...added.pairs);
  evidence.participations.push(...added.participations);
  evidence.people.push(...added.people);
}
