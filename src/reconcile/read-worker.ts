import { type Database, inTransaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type ApplyDeps, applyEvidence } from '../engine/apply-evidence.ts';
import type { ReadRequest, ReadRequestStore } from '../engine/read-request-store.ts';
import type { ReportEvidence } from '../engine/report-evidence.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { PlatformReader } from '../marketplace/platform-api.ts';
import { evidenceOfRead, type MarketplaceRead } from './evidence-of-read.ts';
import { readMarketplace } from './read-marketplace.ts';

/**
 * Asks the marketplace what events left out, and adds the answers as evidence. It promises that a
 * read which failed, or came back without something, changes nothing.
 */
export interface ReadWorkerDeps extends ApplyDeps {
  database: Database;
  readRequests: ReadRequestStore;
  report: ReportEvidence;
  /** By install. */
  platformApis: ReadonlyMap<string, PlatformReader>;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
  /** Called when there is something to be done in a tool. */
  onMembershipDue(): void;
}

const batchSize = 20;
/** As long as a dead worker may hold things up. A read that takes longer is at worst made twice. */
const leaseMs = 30_000;
/** Many contracts of a slow marketplace, each request with its tries. */
const stallMs = 5 * 60_000;
const pollMs = 1000;

export function createReadWorker(deps: ReadWorkerDeps): Loop {
  const { readRequests, logger, clock } = deps;
  return createLoop({
    name: 'read',
    intervalMs: pollMs,
    logger,
    clock,
    stallMs,
    async run(signal) {
      const now = toInstant(clock.now());
      if (!(await readRequests.hasDue(now))) return 'idle';
      const requests = await readRequests.claim(now, instantIn(clock, leaseMs), batchSize);
      const [first] = requests;
      if (first === undefined) return 'idle';
      await answer(deps, first.install, requests, signal);
      return 'more';
    },
  });
}

async function answer(
  deps: ReadWorkerDeps,
  install: string,
  requests: ReadRequest[],
  signal: AbortSignal,
): Promise<void> {
  const { metrics, logger } = deps;
  try {
    const read = await readInstall(deps, install, requests, signal);
    metrics.marketplaceReads.inc({ install, outcome: 'read' }, requests.length);
    await apply(deps, read, requests);
  } catch (thrown) {
    const error = toAppError(thrown);
    metrics.marketplaceReads.inc({ install, outcome: 'failed' }, requests.length);
    if (!signal.aborted) logger.warn({ err: error, install }, 'The marketplace could not be read');
    for (const request of requests) await putOff(deps, request, error);
  }
}

async function readInstall(
  { platformApis, clock }: ReadWorkerDeps,
  install: string,
  requests: ReadRequest[],
  signal: AbortSignal,
): Promise<MarketplaceRead> {
  const api = platformApis.get(install);
  if (api === undefined) {
    throw new AppError('not_found', `The install ${install} is not configured`);
  }
  const contractIds = requests.map((request) => request.contractId);
  return await readMarketplace(api, install, contractIds, toInstant(clock.now()), signal);
}

/** Adds what was read, and keeps asking for what was still missing in it. */
async function apply(
  deps: ReadWorkerDeps,
  read: MarketplaceRead,
  requests: ReadRequest[],
): Promise<void> {
  const { database, evidence, readRequests, clock } = deps;
  const now = toInstant(clock.now());
  const applied = await inTransaction(database, async (tx) => {
    await evidence.lock(tx);
    const applied = await applyEvidence(deps, tx, evidenceOfRead(read), now);
    for (const request of requests) {
      if (isAnswered(read, request)) await readRequests.settle(tx, request);
    }
    return applied;
  });
  deps.report(applied.changed);
  if (applied.isDue) deps.onMembershipDue();
  for (const request of requests) if (!isAnswered(read, request)) await putOff(deps, request);
}

/** Whether there is nothing left that provisioning would need: place, people and their addresses. */
function isAnswered({ contracts, participants }: MarketplaceRead, { contractId }: ReadRequest) {
  const contract = contracts.find(({ id }) => id === contractId);
  if (contract?.status === 'ended') return true;
  const present = participants.get(contractId) ?? [];
  const hasPlace = contract !== undefined && contract.projectLinkIds.length > 0;
  return hasPlace && present.length > 0 && present.every(({ workEmail }) => workEmail !== null);
}

async function putOff(deps: ReadWorkerDeps, request: ReadRequest, error?: AppError): Promise<void> {
  const waitMs = backoffMs(request.attempts + 1, error?.retryAfterMs);
  await deps.readRequests.postpone(request, instantIn(deps.clock, waitMs));
}
