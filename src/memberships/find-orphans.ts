import type { Config } from '../config/config-schema.ts';
import type { Context, Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { onSame } from '../db/query.ts';
import { AppError } from '../domain/errors.ts';
import type { Route, RouteLink } from '../domain/install.ts';
import { heldStates } from '../domain/membership.ts';
import { chunksOf } from '../lib/lists.ts';
import { sayCount } from '../lib/text.ts';
import { postponeDerivation, postponeOrphans } from './derivation-store.ts';
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
async function findUnrouted(
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

/**
 * Refuses a configuration that no longer routes to members who are in a tool, unless the operator accepts it. So an
 * install that was renamed by mistake has no effect. Who still waited to be added where it led before is derived anew.
 *
 * @returns the number of orphans by install and tool, as text; null if there are none
 * @throws AppError `conflict`, with the orphans and what to do
 */
export async function checkOrphans(ctx: Context, isAccepted: boolean): Promise<string | null> {
  const { orphans, waiting } = await findUnrouted(ctx, ctx.config, ctx.routeLink);
  const summary = orphans.length === 0 ? null : summarise(orphans);
  if (summary !== null && !isAccepted) {
    throw new AppError(
      'conflict',
      `The configuration no longer covers ${summary}. ` +
        'Put the name of the install, tool or project back, or start with --accept-orphans: ' +
        'Gangway then keeps and reports them until "gangway retire"',
    );
  }
  await inTransaction(ctx.database, async (tx) => {
    await postponeDerivation(tx, [...orphans, ...waiting]);
    await postponeOrphans(tx);
  });
  return summary;
}

/**
 * Refuses a new routing of installs that would orphan members.
 *
 * @param routeLink the new routing
 * @throws AppError `conflict`, with the orphans and what to do
 */
export async function refuseOrphaning(ctx: Context, routeLink: RouteLink): Promise<void> {
  const orphans = await findOrphans(ctx, ctx.config, routeLink);
  if (orphans.length === 0) return;
  throw new AppError(
    'conflict',
    `The configuration would no longer cover ${summarise(orphans)}. ` +
      'With --accept-orphans Gangway keeps and reports them until "gangway retire"',
  );
}

function summarise(orphans: Orphan[]): string {
  const counts = Map.groupBy(orphans, ({ install, tool }) => `install ${install}, tool ${tool}`);
  const lines = [...counts].map(([of, { length }]) => ({ of, length }));
  lines.sort((a, b) => (a.of < b.of ? -1 : 1));
  const parts = lines.map(({ of, length }) => `${length} of ${of}`).join('; ');
  return `${sayCount(orphans.length, 'membership')} (${parts})`;
}
