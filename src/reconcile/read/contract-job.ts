import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { type AppError, toAppError } from '../../domain/errors.ts';
import { applyEvidence, reportHeld } from '../../evidence/apply-evidence.ts';
import {
  nextReadAt,
  postponeRead,
  type ReadRequest,
  settleRead,
  takeReads,
} from '../../evidence/read-request-store.ts';
import type { JobHold, JobKind } from '../../jobs/job.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { backoffMs } from '../../lib/retry.ts';
import type { Contract, ContractPage, SourceReader } from '../../marketplace/source.ts';
import { evidenceOfRead, type MarketplaceRead } from './evidence-of-install.ts';
import { lockForReading } from './install-state-store.ts';
import { askParticipants, findSource, withoutUnread, withProgress } from './read-install.ts';

/** Contracts of one install in one read, so that they share its listings. */
const batchSize = 20;

/**
 * Asks the marketplace for what events left out, and adds the answers as evidence. A failed or incomplete read
 * takes nothing away. Each contract has a back-off of its own, so one that cannot be read does
 * not delay the others of its install.
 */
export const contractJob: JobKind = {
  name: 'contracts',
  atOnce: 8,
  leaseMs: 30_000,
  // Long enough for many contracts of a slow marketplace, each request with its retries.
  stallMs: 5 * 60_000,
  async run(ctx, { install }, signal, hold) {
    const { clock } = ctx;
    const requests = await takeReads(ctx, install, toInstant(clock.now()), batchSize);
    if (requests.length > 0) await answer(ctx, install, requests, signal, hold.progress);
    const next = await nextReadAt(ctx, install);
    return next === null ? null : Math.max(0, Date.parse(next) - clock.now().getTime());
  },
};

async function answer(
  ctx: Context,
  install: string,
  requests: ReadRequest[],
  signal: AbortSignal,
  progress: JobHold['progress'],
): Promise<void> {
  const { metrics, logger, clock } = ctx;
  try {
    const source = withProgress(findSource(ctx, install), progress);
    const contractIds = requests.map(({ contractId }) => contractId);
    const read = await readMarketplace(source, install, contractIds, toInstant(clock.now()), signal);
    metrics.marketplaceReads.inc({ install, outcome: 'read' }, requests.length);
    await apply(ctx, read, requests);
  } catch (thrown) {
    signal.throwIfAborted();
    const error = toAppError(thrown);
    metrics.marketplaceReads.inc({ install, outcome: 'failed' }, requests.length);
    logger.warn({ err: error, install }, 'The marketplace could not be read');
    for (const request of requests) await putOff(ctx, request, error);
  }
}

/** Adds what was read. A contract that is still incomplete is asked for again later. */
async function apply(ctx: Context, read: MarketplaceRead, requests: ReadRequest[]): Promise<void> {
  const { database, clock } = ctx;
  const now = toInstant(clock.now());
  const applied = await inTransaction(database, async (tx) => {
    await lockForReading(ctx, tx, read);
    const applied = await applyEvidence(ctx, tx, evidenceOfRead(read), now);
    for (const request of requests) {
      if (isAnswered(read, request)) await settleRead(tx, request);
    }
    return applied;
  });
  reportHeld(ctx, applied.held);
  if (applied.isDue) ctx.wake('memberships');
  for (const request of requests) if (!isAnswered(read, request)) await putOff(ctx, request);
}

/** Whether provisioning has all it needs: the links of the contract, its trainers and their addresses. */
function isAnswered({ contracts, participants }: MarketplaceRead, { contractId }: ReadRequest) {
  const contract = contracts.find(({ id }) => id === contractId);
  if (contract?.status === 'ended') return true;
  const present = participants.get(contractId) ?? [];
  const isOnLink = contract !== undefined && contract.projectLinkIds.length > 0;
  return isOnLink && present.length > 0 && present.every(({ workEmail }) => workEmail !== null);
}

async function putOff(ctx: Context, request: ReadRequest, error?: AppError): Promise<void> {
  const waitMs = backoffMs(request.attempts + 1, error?.retryAfterMs);
  await postponeRead(ctx, request, instantIn(ctx.clock, waitMs));
}

/**
 * Reads some contracts: the links, the listings of contracts (one for each link if a page may have
 * been cut off), and the participants of each.
 *
 * @throws AppError if a request failed; there is no half read. A contract that the marketplace does
 * not know (yet) is no failure, and adds no evidence.
 */
export async function readMarketplace(
  source: SourceReader,
  install: string,
  contractIds: string[],
  beganAt: string,
  signal: AbortSignal,
): Promise<MarketplaceRead> {
  const links = await source.listLinks(signal);
  const wanted = new Set(contractIds);
  const contracts = new Map<string, Contract>();
  const isMissing = () => [...wanted].some((id) => !contracts.has(id));

  async function collect(status: 'active' | 'ended', projectLinkId?: string): Promise<ContractPage> {
    const filter = projectLinkId === undefined ? { status } : { status, projectLinkId };
    const page = await source.listContracts(filter, signal);
    for (const contract of page.contracts) {
      if (wanted.has(contract.id)) contracts.set(contract.id, contract);
    }
    return page;
  }

  // Active before ended, so that a contract that ends in between is in the second list.
  for (const status of ['active', 'ended'] as const) {
    if (!isMissing()) break;
    const { isComplete, unreadLinks } = await collect(status);
    if (isComplete) continue;
    for (const { id } of withoutUnread(links, unreadLinks)) if (isMissing()) await collect(status, id);
  }

  const participants = await askParticipants(source, contractIds, signal);
  return { install, beganAt, links, contracts: [...contracts.values()], participants };
}
