import type { Config } from '../config/config-schema.ts';
import { inTransaction } from '../db/database.ts';
import type { RouteLink } from '../domain/route.ts';
import type { Storage } from '../keys/storage.ts';
import { chunksOf } from '../lib/chunks.ts';
import { loadTrainerFacts } from './derive-memberships.ts';
import { type LinkedGroup, listLinkedGroups, trainersInGroups } from './orphan-store.ts';
import { planMemberships } from './plan-memberships.ts';

/** A trainer of a tool that the configuration no longer routes to. */
export interface Orphan {
  tool: string;
  install: string;
  trainerId: string;
}

/** Trainers per transaction, as in deriving. */
const chunkSize = 100;

/** Who is concerned where the configuration no longer routes to a group. */
export interface Unrouted {
  /** In a tool, or perhaps. */
  orphans: Orphan[];
  /** Not in a tool yet, and never tried. */
  waiting: Orphan[];
}

export async function findOrphans(ctx: Storage, config: Config, routeLink: RouteLink): Promise<Orphan[]> {
  return (await findUnrouted(ctx, config, routeLink)).orphans;
}

/**
 * Finds the trainers who would be orphaned if all memberships were derived with this configuration, and those who would
 * no longer wait to be added. It changes nothing: configuration is not evidence and removes no member (docs/design.md,
 * Memberships).
 */
export async function findUnrouted(ctx: Storage, config: Config, routeLink: RouteLink): Promise<Unrouted> {
  const { managedDomains } = config.marketplace;
  const found: Unrouted = { orphans: [], waiting: [] };
  const groups = await listLinkedGroups(ctx);
  const lost = groups.filter((group) => !isRouted(group, routeLink(group)));
  if (lost.length === 0) return found;
  const trainerIds = await trainersInGroups(ctx, lost);
  for (const chunk of chunksOf(trainerIds, chunkSize)) {
    const changes = await inTransaction(ctx.database, async (tx) =>
      planMemberships(await loadTrainerFacts(ctx, tx, chunk, managedDomains), routeLink, config.removals),
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
