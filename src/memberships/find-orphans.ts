import { type Database, inTransaction } from '../db/database.ts';
import { chunksOf } from '../lib/chunks.ts';
import { type DeriveDeps, loadTrainerFacts } from './derive-memberships.ts';
import type { LinkedGroup, OrphanStore } from './orphan-store.ts';
import { planMemberships } from './plan-memberships.ts';

/** A trainer in a tool that the configuration no longer routes to. */
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
 * Finds the trainers who would be orphaned if all memberships were derived with this configuration. It changes nothing:
 * configuration is not evidence and removes no member (docs/design.md, Memberships).
 */
export async function findOrphans(deps: OrphanDeps): Promise<Orphan[]> {
  const { database, orphans: store, rules } = deps;
  const groups = await store.linkedGroups();
  const lost = groups.filter((group) => !isRouted(group, rules.routeLink(group)));
  if (lost.length === 0) return [];
  const trainerIds = await store.trainersIn(lost);
  const orphans: Orphan[] = [];
  for (const chunk of chunksOf(trainerIds, chunkSize)) {
    const changes = await inTransaction(database, async (tx) =>
      planMemberships(await loadTrainerFacts(deps, tx, chunk), rules),
    );
    for (const { seat, before, after } of changes) {
      if (after.state !== 'orphaned') continue;
      const { tool, trainerId } = seat;
      orphans.push({ tool, trainerId, install: before?.install ?? after.install });
    }
  }
  return orphans;
}

function isRouted(group: LinkedGroup, route: { tool: string; groupId: string } | undefined): boolean {
  return route?.tool === group.tool && route.groupId === group.groupId;
}
