import type { Storage } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { lockRows } from '../db/lock.ts';
import { given } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { AppError } from '../domain/errors.ts';
import { isSameServer } from '../tools/bind-tool.ts';
import { listToolBindings } from '../tools/tool-binding-store.ts';
import { adoptAccount } from './account-owner-store.ts';
import { endGivenAddresses } from './address-store.ts';
import { retractRemovals } from './clearance-store.ts';
import { trainerName } from './membership-list-store.ts';

// The SQL of deciding whose a membership is: adopted, released, or retired with its configuration.

/** Whether they stay in, or will be removed now. */
export type Adopted = 'kept' | 'removing';

export interface OrphanFilter {
  install?: string | undefined;
  tool?: string | undefined;
}

export interface OrphanedMembership
  extends Pick<Row<'membership'>, 'id' | 'install' | 'tool' | 'groupId' | 'trainerId'> {
  displayName: string | null;
  /** The id of another membership by which the trainer is wanted in the same group; null if there is none. */
  wantedBy: number | null;
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
 * From now on the membership counts as ours, and the member is removed like any other: at once, where no reason for
 * them stands any more.
 *
 * @param what whether the account counts as ours too, so that it may be ended or changed
 * @throws AppError `not_found`, or `conflict` where there is no member to adopt
 */
export function adoptMember(
  ctx: Storage,
  id: number,
  by: By,
  { withAccount }: { withAccount: boolean } = { withAccount: false },
): Promise<Adopted> {
  return inTransaction(ctx.database, async (tx) => {
    const membership = await findOne(ctx.database, tx, id);
    refuseAdopting(membership, withAccount);
    const { tool, memberId } = membership;
    if (withAccount && memberId !== null) await adoptAccount(tx, tool, memberId, by.at);
    const isKept = membership.wanted;
    await change(tx, membership, by.at, {
      isOurs: true,
      releasedBy: null,
      ...(!isKept && toRemoval(membership, by.at)),
    });
    const action = withAccount ? 'members adopt --account' : 'members adopt';
    await writeAudit(tx, by, action, `membership ${id}`);
    return isKept ? 'kept' : 'removing';
  });
}

/**
 * From now on the membership counts as not ours: the member stays, whatever ends.
 *
 * @param managedDomains an account with an address of these domains is ours, whatever is decided
 * @throws AppError `not_found`, or `conflict` where there is no member to release or an account is in doubt
 */
export function releaseMember(
  ctx: Storage,
  id: number,
  managedDomains: readonly string[],
  by: By,
): Promise<'released'> {
  return inTransaction(ctx.database, async (tx) => {
    const membership = await findOne(ctx.database, tx, id);
    await refuseReleasing(tx, membership, managedDomains);
    const isKept = membership.wanted;
    // A removal that the brake released and that was not executed must not be counted.
    if (!isKept) await retractRemovals(tx, [id]);
    await endGivenAddresses(tx, id, by.at);
    await change(tx, membership, by.at, { isOurs: false, releasedBy: 'operator', ...(!isKept && letGo) });
    await writeAudit(tx, by, 'members release', `membership ${id}`);
    return 'released' as const;
  });
}

export async function listOrphans(ctx: Storage, { install, tool }: OrphanFilter): Promise<OrphanedMembership[]> {
  const rows = await ctx.database.kysely
    .selectFrom('membership')
    .select(['id', 'install', 'tool', 'groupId', 'trainerId'])
    .select(trainerName)
    .where((eb) => eb.and({ state: 'orphaned', ...given({ install, tool }) }))
    .orderBy('id')
    .execute();
  const findTwins = await loadTwins(ctx);
  const listed: OrphanedMembership[] = [];
  for (const row of rows) {
    listed.push({ ...row, wantedBy: await findWantedBeside(ctx.database.kysely, row, findTwins) });
  }
  return listed;
}

/**
 * Ends orphaned memberships: those of a configured tool are removed, others released. Memberships that are no
 * longer orphaned are left alone, and those whose trainer is wanted in the same group.
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
      const membership = await findOne(ctx.database, tx, id);
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
  await change(tx, membership, by.at, { wanted: false, ...next });
  await writeAudit(tx, by, 'retire', `membership ${id}`);
  return isReachable ? 'removing' : 'released';
}

type FindTwins = (tool: string) => string[];

/** All names of a tool's server, as far as they were ever configured. */
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

/** Locks the row until the transaction ends. */
async function findOne(database: Database, tx: Transaction, id: number): Promise<Row<'membership'>> {
  const rows = tx.selectFrom('membership').selectAll().where('id', '=', id);
  const one = await lockRows(database, rows).executeTakeFirst();
  if (one === undefined) throw new AppError('not_found', `There is no membership ${id}`);
  return one;
}

/** A new generation: a call that is running must not settle what it was decided on before. */
async function change(
  tx: Transaction,
  { id, generation }: Row<'membership'>,
  at: string,
  values: Partial<Row<'membership'>>,
): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ ...values, generation: generation + 1, updatedAt: at })
    .where('id', '=', id)
    .execute();
}

function refuseAdopting(membership: Row<'membership'>, withAccount: boolean): void {
  const { id, tool, state, wanted, isOurs } = membership;
  refuseAbsent(membership);
  if (state === 'released' && wanted) {
    throw new AppError(
      'conflict',
      `The account of membership ${id} is protected. Remove it from tools.${tool}.protected first`,
    );
  }
  if (isOurs && !withAccount) {
    throw new AppError('conflict', `Gangway already manages membership ${id}`);
  }
}

async function refuseReleasing(
  tx: Transaction,
  membership: Row<'membership'>,
  managedDomains: readonly string[],
): Promise<void> {
  const { id, tool, trainerId, state, isOurs, releasedBy, doubtedId } = membership;
  if (doubtedId !== null) {
    throw new AppError(
      'conflict',
      `The account of membership ${id} is in doubt. First run gangway members adopt ${id} --address <the address it shows> if it is the trainer's, or gangway members release ${id} --doubted if it is another person's`,
    );
  }
  refuseAbsent(membership);
  if (!isOurs && releasedBy !== null) {
    throw new AppError('conflict', `Gangway does not manage membership ${id}, so there is nothing to release`);
  }
  if (managedDomains.length === 0 || state === 'released') return;
  const managed = await tx
    .selectFrom('person')
    .select('workEmailDomain')
    .where('trainerId', '=', trainerId)
    .where('workEmailDomain', 'in', managedDomains)
    .executeTakeFirst();
  if (managed === undefined) return;
  throw new AppError(
    'conflict',
    `Membership ${id} has an email at ${managed.workEmailDomain}, and Gangway manages all such accounts (marketplace.managedDomains). To keep the account, add it to tools.${tool}.protected`,
  );
}

function refuseAbsent({ id, state, memberId }: Row<'membership'>): void {
  const isOut = state === 'waiting_email' || state === 'removed';
  const isUnknown = (state === 'pending' || state === 'failed') && memberId === null;
  if (!isOut && !isUnknown) return;
  throw new AppError('conflict', `Membership ${id} is ${state}, and no member of it is known in the tool`);
}

const letGo = {
  state: 'released',
  unmetSince: null,
  cause: null,
  removeAfter: null,
  nextAttemptAt: null,
  attempts: 0,
  failure: null,
} as const satisfies Partial<Row<'membership'>>;

function toRetirement(at: string) {
  return {
    ...letGo,
    state: 'removing',
    cause: 'retired',
    removeAfter: at,
    unmetSince: at,
  } satisfies Partial<Row<'membership'>>;
}

/** The brake judges again what it released while the membership was not ours. */
function toRemoval({ state, cause, removeAfter }: Row<'membership'>, at: string) {
  if (state === 'released' || cause === null) return toRetirement(at);
  return { ...toRetirement(at), cause, removeAfter: removeAfter ?? at };
}
