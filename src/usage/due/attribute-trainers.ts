import type { Context } from '../../context.ts';
import type { Transaction } from '../../db/database.ts';
import type { Day, Moment, Observation } from '../../domain/usage.ts';
import { type Attributed, attributeWork, workKey } from '../attribute/attribute-work.ts';
import { findCandidates } from '../attribute/candidate.ts';
import { needsMoments } from '../attribute/share-work.ts';
import { importedObservations } from '../import/import-store.ts';
import { listEngagements } from '../read/contract-source-store.ts';
import { scopeOfLink, timeZoneOf } from '../read/find-scopes.ts';
import { listMoments, toolObservations } from '../read/observation-store.ts';
import { loadDecisions } from './held-store.ts';

export interface AttributedSpan {
  /** Earlier days are left out. */
  fromDay?: Day;
  /** An import that does not count yet, to be taken as if it did. */
  includesImport?: number;
}

/** Works out from the sources what is due and what is held for these trainers. It changes nothing. */
export async function attributeTrainers(
  ctx: Context,
  db: Transaction,
  trainerIds: readonly string[],
  { fromDay = '', includesImport }: AttributedSpan = {},
): Promise<Attributed> {
  const span = { trainerIds, fromDay };
  const observations = [
    ...(await toolObservations(ctx.database, db, span)),
    ...(await importedObservations(ctx.database, db, { ...span, includesImport })),
  ];
  if (observations.length === 0) return { due: [], held: [] };
  const engagements = await listEngagements(ctx.database, db, trainerIds);
  const candidatesOf = findCandidates(engagements, (engagement) => ({
    scope: scopeOfLink(ctx, engagement),
    timeZone: timeZoneOf(ctx, engagement.externalProjectId),
  }));
  const decisions = await loadDecisions(ctx.database, db, trainerIds);
  const moments = new Map<Observation, Moment[]>();
  for (const observation of observations) {
    const isDecided = decisions.has(workKey(observation));
    if (isDecided || !needsMoments(observation, candidatesOf(observation))) continue;
    moments.set(observation, await listMoments(db, observation));
  }
  return attributeWork(observations, {
    candidatesOf,
    momentsOf: (observation) => moments.get(observation) ?? [],
    decisions,
  });
}
