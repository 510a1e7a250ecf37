import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { longestLookMs } from '../../domain/required-readings.ts';
import { listOpenReads } from '../../evidence/read-request-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { chunksOf } from '../../lib/lists.ts';
import { createTurnLanes, type Loop } from '../../lib/loop.ts';
import type { SourceReader } from '../../sources/source.ts';
import { contractsAtOnce, toAsked } from '../read/evidence-of-install.ts';
import { evidenceOfRead } from '../read/evidence-of-read.ts';
import { knownOfInstall } from '../read/install-state-store.ts';
import { askParticipants, type KnownInstall, listActive } from '../read/read-install.ts';
import {
  claimList,
  findUnreadContracts,
  giveUpList,
  installsWithListsDue,
  knowsLinks,
  noteListed,
  postponeList,
} from './active-list-store.ts';
import { addEvidence, deriveAll, findApi } from './reconcile-install.ts';

/** How many installs are asked at the same time. */
const installsAtOnce = 8;
/** A dead worker delays a list by at most this long. A list that takes longer may be made twice. */
const leaseMs = 10_000;
/** How soon a failed list is tried again while a removal waits for it. */
const againMs = 5000;

/**
 * Lists the active contracts of an install before the end of a contract takes a trainer's last known
 * reason, because the start of a renewal may be lost or late. One list serves all ends that wait.
 */
export function createActiveListWorker(ctx: Context): Loop {
  const { logger, clock, pollMs } = ctx;
  const now = () => toInstant(clock.now());
  return createTurnLanes({
    name: 'active-list',
    pollMs,
    logger,
    clock,
    stallMs: 2 * longestLookMs,
    atOnce: installsAtOnce,
    due: () => installsWithListsDue(ctx, now()),
    async claim(install, signal) {
      const wantedAt = await claimList(ctx, install, now(), instantIn(clock, leaseMs));
      return wantedAt === null ? null : () => answerList(ctx, install, wantedAt, signal);
    },
  });
}

/** @param wantedAt since when a removal waits for it */
export async function answerList(ctx: Context, install: string, wantedAt: string, signal: AbortSignal): Promise<void> {
  const { logger, metrics, clock } = ctx;
  const leftMs = Date.parse(wantedAt) + longestLookMs - clock.now().getTime();
  if (leftMs <= 0) return await giveUpList(ctx, install);
  const beganAt = toInstant(clock.now());
  try {
    const soonEnough = AbortSignal.any([signal, AbortSignal.timeout(leftMs)]);
    await listAndAdd(ctx, install, beganAt, soonEnough);
    await noteListed(ctx, install, beganAt);
    metrics.marketplaceReads.inc({ install, outcome: 'read' });
    ctx.wake('removals');
  } catch (thrown) {
    const error = toAppError(thrown);
    metrics.marketplaceReads.inc({ install, outcome: 'failed' });
    const says = 'Before an end takes effect, the active contracts could not be listed';
    if (!signal.aborted) logger.warn({ err: error, install }, says);
    const waitMs = Math.max(againMs, error.retryAfterMs ?? 0);
    await postponeList(ctx, install, instantIn(clock, waitMs));
  }
}

/**
 * Adds the active contracts, and the participants of those that were never asked for.
 *
 * @throws AppError `conflict` if a renewal may be in what was not answered
 */
async function listAndAdd(ctx: Context, install: string, beganAt: string, signal: AbortSignal): Promise<void> {
  const source = findApi(ctx, install);
  const contracts = await listAll(source, signal);
  const isEmpty = contracts.every(({ status }) => status === 'ended');
  if (isEmpty && knowsActive(await knownOfInstall(ctx, install))) {
    throw new AppError('conflict', 'The list of active contracts is empty, although some are known');
  }
  const ids = contracts.filter(({ status }) => status !== 'ended').map(({ id }) => id);
  const read = { install, beganAt, links: [], contracts: [], participants: new Map() };
  const linkIds = new Set(contracts.flatMap(({ projectLinkIds }) => projectLinkIds));
  if (!(await knowsLinks(ctx, install, [...linkIds]))) {
    const links = await source.listLinks(signal);
    await addEvidence(ctx, evidenceOfRead({ ...read, links }));
  }
  for (const chunk of chunksOf(contracts, contractsAtOnce)) {
    await addEvidence(ctx, evidenceOfRead({ ...read, contracts: chunk }));
    // On SQLite all of it ran in this thread. Deliveries are answered between the parts of a long list.
    await nextTurn();
  }
  for (const chunk of chunksOf(await findUnreadContracts(ctx, install, ids), contractsAtOnce)) {
    const participants = await askParticipants(source, chunk, signal);
    const answered = chunk.filter((id) => (participants.get(id) ?? []).length > 0);
    const evidence = evidenceOfRead({ ...read, participants });
    const contracts = answered.map((id) => toAsked(install, id, beganAt));
    await addEvidence(ctx, { ...evidence, contracts: [...evidence.contracts, ...contracts] });
  }
  await deriveAll(ctx, install, async () => {
    signal.throwIfAborted();
    await nextTurn();
  });
  // An event names one of several people.
  const isUnanswered = (await findUnreadContracts(ctx, install, ids)).length > 0;
  if (isUnanswered) throw new AppError('conflict', 'The marketplace did not say who is on an active contract');
  const listed = new Set(contracts.map(({ id }) => id));
  const isUnread = (await listOpenReads(ctx, install)).some((id) => !listed.has(id));
  if (isUnread) throw new AppError('conflict', 'The list of active contracts lacks one that an event announced');
}

/** One listing if they fit into one, else one for each link. */
async function listAll(source: SourceReader, signal: AbortSignal) {
  const whole = await listActive(source, [], signal);
  if (whole.isComplete) return whole.contracts;
  return (await listActive(source, await source.listLinks(signal), signal)).contracts;
}

/** Whether a contract of a live link is active as far as is known. */
function knowsActive({ links, contracts }: KnownInstall): boolean {
  return contracts.some(({ linkIds }) => linkIds.some((id) => links.has(id)));
}
