import { type Database, inTransaction } from '../db/database.ts';
import { chunksOf } from '../lib/chunks.ts';
import { type DeriveDeps, loadKnown } from './derive-memberships.ts';
import type { LivePlace, OrphanStore } from './orphan-store.ts';
import { planMemberships } from './plan-memberships.ts';

/** Somebody in a tool whom the configuration no longer leads to. */
export interface Orphan {
  tool: string;
  install: string;
  trainerId: string;
}

export interface OrphanDeps extends Omit<DeriveDeps, 'alerts'> {
  database: Database;
  orphans: OrphanStore;
}

/** Trainers per transaction, as in deriving. */
const chunkSize = 100;

/**
 * Who would be orphaned if everything were derived by this configuration. Changes nothing:
 * configuration is not evidence, and nobody is removed by it (design section 2).
 */
export async function findOrphans(deps: OrphanDeps): Promise<Orphan[]> {
  const { database, orphans: store, rules } = deps;
  const places = await store.livePlaces();
  const lost = places.filter((place) => !isRouted(place, rules.routeLink(place)));
  if (lost.length === 0) return [];
  const trainerIds = await store.trainersAt(lost);
  const orphans: Orphan[] = [];
  for (const chunk of chunksOf(trainerIds, chunkSize)) {
    const changes = await inTransaction(database, async (tx) =>
      planMemberships(await loadKnown(deps, tx, chunk), rules),
    );
    for (const { place, before, after } of changes) {
      if (after.state !== 'orphaned') continue;
      const { tool, trainerId } = place;
      orphans.push({ tool, trainerId, install: before?.install ?? after.install });
    }
  }
  return orphans;
}

function isRouted(place: LivePlace, route: { tool: string; groupId: string } | undefined): boolean {
  return route?.tool === place.tool && route.groupId === place.groupId;
}
