import { inTransaction } from '../db/database.ts';
import { chunksOf } from '../lib/chunks.ts';
import { type DeriveDeps, loadTrainerFacts } from './derive-memberships.ts';
import { type LinkedGroup, listLinkedGroups, trainersInGroups } from './orphan-store.ts';
import { planMemberships } from './plan-memberships.ts';

/** A trainer of a tool that the configuration no longer routes to. */
export interface Orphan {
  tool: string;
  install: string;
  trainerId: string;
}

export type OrphanDeps = Omit<DeriveDeps, 'alerts'>;

/** Trainers per transaction, as in deriving. */
const chunkSize = 100;

/** Who is concerned where the configuration no longer routes to a group. */
export interface Unrouted {
  /** In a tool, or perhaps. */
  orphans: Orphan[];
  /** Not in a tool yet, and never tried. */
  waiting: Orphan[];
}

export async function findOrphans(deps: OrphanDeps): Promise<Orphan[]> {
  return (await findUnrouted(deps)).orphans;
}

/**
 * Finds the trainers who would be orphaned if all memberships were derived with this configuration, and those who would
 * no longer wait to be added. It changes nothing: configuration is not evidence and removes no member (docs/design.md,
 * Memberships).
 */
export async function findUnrouted(deps: OrphanDeps): Promise<Unrouted> {
  const { database, rules } = deps;
  const found: Unrouted = { orphans: [], waiting: [] };
  const groups = await listLinkedGroups(deps);
  const lost = groups.filter((group) => !isRouted(group, rules.routeLink(group)));
  if (lost.length === 0) return found;
  const trainerIds = await trainersInGroups(deps, lost);
  for (const chunk of chunksOf(trainerIds, chunkSize)) {
    const changes = await inTransaction(database, async (tx) =>
      planMemberships(await loadTrainerFacts(deps, tx, chunk), rules),
    );
    for (const { seat, before, after } of changes) {
      const { tool, trainerId } = seat;
      const one = { tool, trainerId, install: before?.install ?? after.install };
      if (after.state === 'orphaned') found.orphans.push(one);
      if (before?.wanted === true && after.state === 'removed') found.waiting.push(one);
    }
  }
  return found;
}

function isRouted(group: LinkedGroup, route: { tool: string; groupId: string } | undefined): boolean {
  return route?.tool === group.tool && route.groupId === group.groupId;
}
