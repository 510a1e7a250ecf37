import type { Config } from '../config/config-schema.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { onSame } from '../db/query.ts';
import { heldStates } from '../domain/membership.ts';
import type { Route, RouteLink } from '../domain/route.ts';
import type { Storage } from '../keys/storage.ts';
import { chunksOf } from '../lib/lists.ts';
import { loadTrainerFacts } from './derive-memberships.ts';
import { planMemberships } from './plan-memberships.ts';

/** A trainer of a tool that the configuration no longer routes to. */
export interface Orphan {
  tool: string;
  install: string;
  trainerId: string;
}

/** Trainers per transaction, as in deriving. */
const chunkSize = 100;

export async function findOrphans(ctx: Storage, config: Config, routeLink: RouteLink): Promise<Orphan[]> {
  return (await findUnrouted(ctx, config, routeLink)).orphans;
}

/**
 * Finds the trainers who would be orphaned if all memberships were derived with this configuration, and those who would
 * no longer wait to be added. It changes nothing: configuration is not evidence and removes no member.
 *
 * @returns `orphans`: in a tool, or perhaps; `waiting`: not in a tool yet, and never tried
 */
export async function findUnrouted(
  ctx: Storage,
  config: Config,
  routeLink: RouteLink,
): Promise<{ orphans: Orphan[]; waiting: Orphan[] }> {
  const { managedDomains } = config.marketplace;
  const [orphans, waiting]: [Orphan[], Orphan[]] = [[], []];
  const lost = (await listLinkedGroups(ctx.database.kysely)).filter((group) => !leadsThere(group, routeLink(group)));
  const trainerIds = await trainersIn(ctx.database.kysely, lost);
  for (const chunk of chunksOf(trainerIds, chunkSize)) {
    const changes = await inTransaction(ctx.database, async (tx) =>
      planMemberships(await loadTrainerFacts(ctx, tx, chunk, managedDomains), routeLink, config.removals),
    );
    for (const { seat, before, after } of changes) {
      const { tool, trainerId } = seat;
      const one = { tool, trainerId, install: before?.install ?? after.install };
      if (after.state === 'orphaned') orphans.push(one);
      if (before?.wanted === true && after.state === 'removed') waiting.push(one);
    }
  }
  return { orphans, waiting };
}

/** Every group in a tool where a trainer is, or is to be, by the links that led there. */
async function listLinkedGroups(db: Transaction) {
  return await withReasons(db)
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select(['tool', 'groupId', 'link.install', 'link.linkId', 'externalProjectId', 'externalProjectName'])
    .distinct()
    .execute();
}

function leadsThere(group: LinkedGroup, route: Route | undefined): boolean {
  return route?.tool === group.tool && route.groupId === group.groupId;
}

type LinkedGroup = Awaited<ReturnType<typeof listLinkedGroups>>[number];

async function trainersIn(db: Transaction, groups: readonly LinkedGroup[]): Promise<string[]> {
  const trainers = new Set<string>();
  for (const { tool, groupId, install, linkId } of groups) {
    const found = withReasons(db).select('trainerId');
    const there = found.where((eb) => eb.and({ tool, groupId, 'reason.install': install, linkId }));
    for (const { trainerId } of await there.execute()) trainers.add(trainerId);
  }
  return [...trainers];
}

/** Memberships by which a trainer is, may be or is to be in a tool, joined with their recorded reasons. */
function withReasons(db: Transaction) {
  return db
    .selectFrom('membership')
    .innerJoin('reason', 'reason.membershipId', 'membership.id')
    .where('state', 'in', [...heldStates, 'waiting_email'])
    .where('state', '<>', 'orphaned');
}
