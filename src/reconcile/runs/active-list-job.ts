import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { AppError } from '../../domain/errors.ts';
import { longestLookMs } from '../../domain/required-readings.ts';
import { listOpenReads } from '../../evidence/read-request-store.ts';
import type { JobHold, JobKind } from '../../jobs/job.ts';
import { toInstant } from '../../lib/clock.ts';
import { chunksOf } from '../../lib/lists.ts';
import type { SourceReader } from '../../marketplace/source.ts';
import { contractsAtOnce, evidenceOfRead, toParticipantsRead } from '../read/evidence-of-install.ts';
import { knownOfInstall } from '../read/install-state-store.ts';
import { askParticipants, findSource, type KnownInstall, listActive } from '../read/read-install.ts';
import { findUnreadContracts, knowsLinks, noteListed } from './active-list-store.ts';
import { addEvidence, deriveAll } from './reconcile-install.ts';

/**
 * Lists the active contracts of an install before the end of a contract takes a trainer's last known
 * reason, because the start of a renewal may be lost or late. One list serves all ends that wait.
 */
export const activeListJob: JobKind = {
  name: 'active list',
  atOnce: 8,
  leaseMs: 10_000,
  stallMs: 2 * longestLookMs,
  restMs: () => 5000,
  failureMessage: 'Before an end takes effect, the active contracts could not be listed',
  async run(ctx, { install, failingSince }, signal, hold) {
    const { metrics, clock } = ctx;
    const beganAt = toInstant(clock.now());
    const leftMs = Date.parse(failingSince ?? beganAt) + longestLookMs - Date.parse(beganAt);
    // No removal waits any longer.
    if (leftMs <= 0) return null;
    try {
      await listAndAdd(ctx, install, beganAt, AbortSignal.any([signal, AbortSignal.timeout(leftMs)]), hold.progress);
      metrics.marketplaceReads.inc({ install, outcome: 'read' });
    } catch (thrown) {
      metrics.marketplaceReads.inc({ install, outcome: 'failed' });
      throw thrown;
    }
    await noteListed(ctx, { install, beganAt });
    ctx.wake('removals');
    return null;
  },
};

/**
 * Adds the active contracts, and the participants of those that were never asked for.
 *
 * @throws AppError `conflict` if a renewal may be in what was not answered
 */
async function listAndAdd(
  ctx: Context,
  install: string,
  beganAt: string,
  signal: AbortSignal,
  progress: JobHold['progress'],
): Promise<void> {
  const source = findSource(ctx, install);
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
    await addEvidence(ctx, evidenceOfRead({ ...read, links }), read);
  }
  for (const chunk of chunksOf(contracts, contractsAtOnce)) {
    await addEvidence(ctx, evidenceOfRead({ ...read, contracts: chunk }), read);
    await progress();
    // On SQLite all of it ran in this thread. Deliveries are answered between the parts of a long list.
    await nextTurn();
  }
  for (const chunk of chunksOf(await findUnreadContracts(ctx, install, ids), contractsAtOnce)) {
    const participants = await askParticipants(source, chunk, signal);
    await progress();
    const answered = chunk.filter((id) => (participants.get(id) ?? []).length > 0);
    const evidence = evidenceOfRead({ ...read, participants });
    const contracts = answered.map((id) => toParticipantsRead(install, id, beganAt));
    await addEvidence(ctx, { ...evidence, contracts: [...evidence.contracts, ...contracts] }, read);
  }
  await deriveAll(ctx, install, async () => {
    signal.throwIfAborted();
    await progress();
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

/** Whether an active contract of a live link is known. */
function knowsActive({ links, contracts }: KnownInstall): boolean {
  return contracts.values().some(({ linkIds }) => linkIds.some((id) => links.has(id)));
}
