import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { applyEvidence, reportHeld } from '../../evidence/apply-evidence.ts';
import {
  claimReads,
  installsWithReadsDue,
  postponeRead,
  type ReadRequest,
  settleRead,
} from '../../evidence/read-request-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import type { Loop } from '../../lib/loop.ts';
import { createTurnLanes } from '../../lib/loop.ts';
import { backoffMs } from '../../lib/retry.ts';
import { lockEvidence } from '../../memberships/derivation-store.ts';
import type { Contract, ContractPage, Participant, SourceReader } from '../../sources/source.ts';
import { checkBegan } from './clock-worker.ts';
import { evidenceOfRead, type MarketplaceRead } from './evidence-of-read.ts';
import { withoutUnread } from './read-install.ts';

/** Contracts of one install in one read, so that they share its listings. */
const batchSize = 20;
/** How many installs are read at the same time. */
const installsAtOnce = 8;
/** A dead worker delays a read by at most this long. A read that takes longer may be made twice. */
const leaseMs = 30_000;
/** Long enough for many contracts of a slow marketplace, each request with its retries. */
const stallMs = 5 * 60_000;

/**
 * Asks the marketplace for what events left out, and adds the answers as evidence. A read that fails
 * or that lacks something takes nothing away. Installs take turns and have one read each at a time,
 * so no install waits for another's answers.
 */
export function createReadWorker(ctx: Context): Loop {
  const { logger, clock, pollMs } = ctx;
  const now = () => toInstant(clock.now());
  return createTurnLanes({
    name: 'read',
    pollMs,
    logger,
    clock,
    stallMs,
    atOnce: installsAtOnce,
    due: () => installsWithReadsDue(ctx, now()),
    async claim(install, signal) {
      const requests = await claimReads(ctx, install, now(), instantIn(clock, leaseMs), batchSize);
      return requests.length === 0 ? null : () => answer(ctx, install, requests, signal);
    },
  });
}

async function answer(ctx: Context, install: string, requests: ReadRequest[], signal: AbortSignal): Promise<void> {
  const { metrics, logger } = ctx;
  try {
    const read = await readInstall(ctx, install, requests, signal);
    metrics.marketplaceReads.inc({ install, outcome: 'read' }, requests.length);
    checkBegan(ctx.clock, install, read.beganAt);
    await apply(ctx, read, requests);
  } catch (thrown) {
    const error = toAppError(thrown);
    metrics.marketplaceReads.inc({ install, outcome: 'failed' }, requests.length);
    if (!signal.aborted) logger.warn({ err: error, install }, 'The marketplace could not be read');
    for (const request of requests) await putOff(ctx, request, error);
  }
}

async function readInstall(
  { sources, clock }: Context,
  install: string,
  requests: ReadRequest[],
  signal: AbortSignal,
): Promise<MarketplaceRead> {
  const source = sources.get(install);
  if (source === undefined) {
    throw new AppError('not_found', `The install ${install} is not configured`);
  }
  const contractIds = requests.map((request) => request.contractId);
  return await readMarketplace(source, install, contractIds, toInstant(clock.now()), signal);
}

/** Adds what was read. A contract that is still incomplete is asked for again later. */
async function apply(ctx: Context, read: MarketplaceRead, requests: ReadRequest[]): Promise<void> {
  const { database, clock } = ctx;
  const now = toInstant(clock.now());
  const applied = await inTransaction(database, async (tx) => {
    await lockEvidence(ctx, tx);
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

  const participants = new Map<string, Participant[]>();
  for (const id of wanted) {
    const present = await source.listParticipants(id, signal).catch(emptyWhereUnknown);
    participants.set(id, present);
  }
  return { install, beganAt, links, contracts: [...contracts.values()], participants };
}

function emptyWhereUnknown(error: unknown): Participant[] {
  if (error instanceof AppError && error.code === 'not_found') return [];
  throw error;
}
