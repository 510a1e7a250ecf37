import type { Context } from '../context.ts';
import { AppError } from '../domain/errors.ts';
import type { PairEvidence } from '../domain/evidence.ts';
import { type Access, listAccess } from '../memberships/access-list-store.ts';
import { findMembership } from '../memberships/look-store.ts';
import type { Explanation } from './explain.ts';
import { explainSubject } from './explain-subject.ts';
import { loadTimeline, type Timeline } from './timeline/load-timeline.ts';

/** A membership with why it is as it is, and what happened. */
export interface LoadedMembership extends Access {
  nextAttemptAt: string | null;
  /** Whether there is a call to make now. */
  canConverge: boolean;
  explanations: Explanation[];
  timeline: Timeline;
}

/** @throws AppError `not_found` */
export async function loadMembership(ctx: Context, id: number): Promise<LoadedMembership> {
  const { database } = ctx;
  const membership = await findMembership(database.kysely, id);
  if (membership === undefined) throw new AppError('not_found', `There is no membership ${id}`);
  const { trainerId, nextAttemptAt, isWorkable: canConverge } = membership;
  // The list has the reasons; no other membership has an id between them.
  const [access] = await listAccess(database.kysely, { before: id + 1, trainerId, limit: 1 });
  if (access === undefined) throw new AppError('not_found', `There is no membership ${id}`);
  const isReason = (one: { install: string; contractId: string }) =>
    access.reasons.some(({ install, contractId }) => install === one.install && contractId === one.contractId);
  const isLink = ({ install, linkId }: { install: string; linkId: string }) =>
    access.reasons.some((reason) => reason.install === install && reason.linkId === linkId);
  const isAsked = (pair: PairEvidence) => isReason(pair) && isLink(pair);
  const { explanations, bearing } = await explainSubject(ctx, trainerId, isAsked);
  const about = {
    contracts: bearing.contracts.filter(isReason),
    links: bearing.links.filter(isLink),
    grants: bearing.grants,
    participations: bearing.participations.filter((one) => one.trainerId === trainerId && isReason(one)),
  };
  return {
    ...access,
    nextAttemptAt,
    canConverge,
    explanations: explanations.filter(isReason),
    timeline: await loadTimeline(database, { id }, about),
  };
}
