import type { Context, Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { given, onSame } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { AppError } from '../domain/errors.ts';
import type { RouteLink } from '../domain/install.ts';
import { heldStates } from '../domain/membership.ts';
import { chunksOf } from '../lib/lists.ts';
import { sayCount } from '../lib/text.ts';
import { isSameServer } from '../tools/bind-tool.ts';
import { listToolBindings } from '../tools/tool-binding-store.ts';
import { postponeDerivation, postponeOrphans } from './derivation-store.ts';
import { loadTrainerFacts } from './derive-memberships.ts';
import { endGivenAddresses } from './identity-store.ts';
import { trainerName } from './membership-list-store.ts';
import { changeMembership, letGo, lockMembership, toRetirement } from './ownership-store.ts';
import { planMemberships } from './plan-memberships.ts';

// The SQL of orphans: members of a tool whom the configuration no longer covers. It is not evidence, so they stay until
// an operator retires them.

/** A trainer who would be orphaned. */
export interface Orphan {
  tool: string;
  install: string;
  trainerId: string;
}

type Configured = Storage & Pick<Context, 'config'>;

/** Trainers per transaction, as in deriving. */
const chunkSize = 100;

/**
 * The trainers in a tool, or perhaps in it, who would be orphaned if all memberships were derived with this routing.
 */
export async function findOrphans(ctx: Configured, routeLink: RouteLink): Promise<Orphan[]> {
  return (await findUnrouted(ctx, routeLink)).orphans;
}

/** Changes nothing. @returns `waiting`: those who would no longer wait to be added, and were never tried */
async function findUnrouted(ctx: Configured, routeLink: RouteLink): Promise<{ orphans: Orphan[]; waiting: Orphan[] }> {
  const [orphans, waiting]: [Orphan[], Orphan[]] = [[], []];
  const trainerIds = await findTrainersUnrouted(ctx.database.kysely, routeLink);
  for (const chunk of chunksOf(trainerIds, chunkSize)) {
    const changes = await inTransaction(ctx.database, async (tx) =>
      planMemberships(await loadTrainerFacts(ctx, tx, chunk), routeLink, ctx.config.removals),
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

/** The trainers in groups to which a recorded link no longer leads. */
async function findTrainersUnrouted(db: Transaction, routeLink: RouteLink): Promise<string[]> {
  const groups = await withReasons(db)
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select(['tool', 'groupId', 'link.install', 'link.linkId', 'externalProjectId', 'externalProjectName'])
    .distinct()
    .execute();
  const trainers = new Set<string>();
  for (const { tool, groupId, linkId, ...link } of groups) {
    const route = routeLink(link);
    if (route?.tool === tool && route.groupId === groupId) continue;
    const there = withReasons(db)
      .select('trainerId')
      .where((eb) => eb.and({ tool, groupId, 'reason.install': link.install, linkId }));
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
 * install that was renamed by mistake has no effect. Trainers who still waited to be added there are derived again.
 *
 * @returns the number of orphans by install and tool, as text; null if there are none
 * @throws AppError `conflict`, with the orphans and what to do
 */
export async function checkOrphans(ctx: Context, isAccepted: boolean): Promise<string | null> {
  const { orphans, waiting } = await findUnrouted(ctx, ctx.routeLink);
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
 * @throws AppError `conflict`, with the orphans and what to do
 */
export async function refuseOrphaning(ctx: Context, routeLink: RouteLink): Promise<void> {
  const orphans = await findOrphans(ctx, routeLink);
  if (orphans.length === 0) return;
  throw new AppError(
    'conflict',
    `The configuration would no longer cover ${summarise(orphans)}. ` +
      'With --accept-orphans Gangway keeps and reports them until "gangway retire"',
  );
}

function summarise(orphans: Orphan[]): string {
  const counts = Map.groupBy(orphans, ({ install, tool }) => `install ${install}, tool ${tool}`);
  const parts = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([of, { length }]) => `${length} of ${of}`);
  return `${sayCount(orphans.length, 'membership')} (${parts.join('; ')})`;
}

export interface OrphanedMembership
  extends Pick<Row<'membership'>, 'id' | 'install' | 'tool' | 'groupId' | 'trainerId'> {
  displayName: string | null;
  /** The id of another membership by which the trainer is wanted in the same group; null if there is none. */
  wantedBy: number | null;
}

export async function listOrphans(
  ctx: Storage,
  filter: { install?: string | undefined; tool?: string | undefined },
): Promise<OrphanedMembership[]> {
  const rows = await ctx.database.kysely
    .selectFrom('membership')
    .select(['id', 'install', 'tool', 'groupId', 'trainerId'])
    .select(trainerName)
    .where((eb) => eb.and({ state: 'orphaned', ...given(filter) }))
    .orderBy('id')
    .execute();
  const findTwins = await loadTwins(ctx);
  const listed: OrphanedMembership[] = [];
  for (const row of rows) {
    listed.push({ ...row, wantedBy: await findWantedBeside(ctx.database.kysely, row, findTwins) });
  }
  return listed;
}

export interface Retired {
  /** How many will be removed from their tool. */
  removing: number;
  /** How many are released, because their tool is no longer configured. */
  released: number;
  /** How many stay orphaned, because another membership wants them in the same group. */
  kept: number;
}

/**
 * Ends orphaned memberships: those of a configured tool are removed, others released. Leaves alone memberships that are
 * no longer orphaned, and those whose trainer is wanted in the same group.
 *
 * @param tools the configured tools
 */
export async function retireOrphans(
  ctx: Storage,
  orphans: OrphanedMembership[],
  tools: ReadonlySet<string>,
  by: By,
): Promise<Retired> {
  const retired: Retired = { removing: 0, released: 0, kept: 0 };
  const findTwins = await loadTwins(ctx);
  for (const { id, tool } of orphans) {
    const outcome = await inTransaction(ctx.database, async (tx) => {
      const membership = await lockMembership(ctx.database, tx, id);
      if (membership.state !== 'orphaned') return null;
      const isReachable = tools.has(tool);
      if (isReachable && (await findWantedBeside(tx, membership, findTwins)) !== null) return 'kept';
      return await retireOne(tx, membership, isReachable, by);
    });
    if (outcome !== null) retired[outcome] += 1;
  }
  return retired;
}

async function retireOne(
  tx: Transaction,
  membership: Row<'membership'>,
  isReachable: boolean,
  by: By,
): Promise<'removing' | 'released'> {
  const { id } = membership;
  const next = isReachable ? toRetirement(by.at) : ({ ...letGo, isOurs: false, releasedBy: 'retirement' } as const);
  if (!isReachable) await endGivenAddresses(tx, id, by.at);
  await changeMembership(tx, membership, by.at, { wanted: false, ...next });
  await writeAudit(tx, by, 'retire', `membership ${id}`);
  return isReachable ? 'removing' : 'released';
}

type FindTwins = (tool: string) => string[];

/** All names under which a tool's server was ever configured. */
async function loadTwins(ctx: Storage): Promise<FindTwins> {
  const bindings = await listToolBindings(ctx);
  return (tool) => {
    const own = bindings.find((one) => one.tool === tool);
    const twins = own === undefined ? [] : bindings.filter((one) => isSameServer(own, one)).map((one) => one.tool);
    return [...new Set([tool, ...twins])];
  };
}

/** @returns the id of another membership by which the trainer is wanted in the same group; null if there is none */
async function findWantedBeside(
  db: Transaction,
  { id, tool, groupId, trainerId }: Pick<Row<'membership'>, 'id' | 'tool' | 'groupId' | 'trainerId'>,
  findTwins: FindTwins,
): Promise<number | null> {
  const other = await db
    .selectFrom('membership')
    .select('id')
    .where('trainerId', '=', trainerId)
    .where('tool', 'in', findTwins(tool))
    .where('groupId', '=', groupId)
    .where('id', '!=', id)
    .where('wanted', '=', true)
    .where('state', '!=', 'orphaned')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return other?.id ?? null;
}
