import { randomUUID } from 'node:crypto';
import type { Member } from '../../adapters/adapter.ts';
import type { Storage } from '../../context.ts';
import { type Database, inTransaction, type Transaction } from '../../db/database.ts';
import { jsonTexts } from '../../db/query.ts';
import type { Row } from '../../db/schema.ts';
import { driftFindingContext } from '../../db/seal-contexts.ts';
import type { MembershipState } from '../../domain/membership.ts';
import type { SecretBox } from '../../keys/secret-box.ts';
import { chunksOf } from '../../lib/lists.ts';
import { type Group, groupKeyOf } from './drift-store.ts';
import type { DriftVerdict } from './judge-drift.ts';

// The only SQL of what the latest listing of each group showed, for people to see. No member is added or removed because
// of it.

export type FindingKind = DriftVerdict['kind'];

/** What a tool shows of an account. */
export type FoundAccount = Pick<Member, 'id' | 'email'> & { name: string | null };

export interface Finding {
  kind: FindingKind;
  membershipId: number | null;
  /** Null where there is a membership. */
  account: FoundAccount | null;
}

export interface KeptListing {
  install: string;
  listedAt: string;
  listed: number;
  findings: readonly Finding[];
}

export interface FindingFilter {
  tool?: string | undefined;
  groupId?: string | undefined;
  /** The last one of the page before. */
  after?: { tool: string; groupId: string; kind?: string; id?: string } | undefined;
  limit: number;
}

export interface ListedGroupDrift extends Group {
  install: string;
  listedAt: string;
  listed: number;
  unkept: number;
  counts: Partial<Record<FindingKind, number>>;
}

export interface ListedFinding extends Finding, Group {
  id: string;
  since: string;
  /** By whose reading it was listed, and when last. */
  install: string;
  listedAt: string;
  /** Null where there is no membership. */
  member: FoundMember | null;
}

interface FoundMember {
  trainerId: string;
  displayName: string | null;
  state: MembershipState;
  wanted: boolean;
  removeAfter: string | null;
}

/** More strangers in one group are only counted. */
const mostKept = 1000;
const rowsAtOnce = 200;

/** Replaces the findings of the earlier listing. A finding that both have keeps its time. */
export async function keepFindings(
  ctx: Storage,
  group: Group,
  { install, listedAt, listed, findings }: KeptListing,
): Promise<void> {
  const kept = findings.slice(0, mostKept);
  await inTransaction(ctx.database, async (tx) => {
    const listing = { install, listedAt, listed, unkept: findings.length - kept.length };
    await tx
      .insertInto('driftListing')
      .values({ ...group, ...listing })
      // Locks the row, so that two instances that list the group at once write one after the other.
      .onConflict((conflict) => conflict.columns(['tool', 'groupId']).doUpdateSet(listing))
      .execute();
    await replaceFindings(tx, ctx.box, group, kept, listedAt);
  });
}

/** Deletes the groups that an install no longer lists, and those that no install has listed since then. */
export async function keepFindingGroups(
  ctx: Storage,
  install: string,
  groups: readonly Group[],
  listedSince: string,
): Promise<void> {
  const keys = new Set(groups.map(groupKeyOf));
  const listed = await ctx.database.kysely
    .selectFrom('driftListing')
    .select(['tool', 'groupId', 'install', 'listedAt'])
    .where((eb) => eb.or([eb('install', '=', install), eb('listedAt', '<', listedSince)]))
    .execute();
  const gone = listed.filter((one) => one.listedAt < listedSince || !keys.has(groupKeyOf(one)));
  if (gone.length === 0) return;
  await inTransaction(ctx.database, async (tx) => {
    for (const { tool, groupId } of gone) {
      for (const table of ['driftFinding', 'driftListing'] as const) {
        await tx.deleteFrom(table).where('tool', '=', tool).where('groupId', '=', groupId).execute();
      }
    }
  });
}

export async function listGroupDrifts(
  ctx: Storage,
  { tool, groupId, after, limit }: FindingFilter,
): Promise<ListedGroupDrift[]> {
  let query = ctx.database.kysely.selectFrom('driftListing').selectAll();
  if (tool !== undefined) query = query.where('tool', '=', tool);
  if (groupId !== undefined) query = query.where('groupId', '=', groupId);
  if (after !== undefined) {
    query = query.where((eb) => eb(eb.refTuple('tool', 'groupId'), '>', eb.tuple(after.tool, after.groupId)));
  }
  const groups = await query.orderBy('tool').orderBy('groupId').limit(limit).execute();
  const counts = await countFindings(ctx.database, groups);
  const byGroup = Map.groupBy(counts, groupKeyOf);
  return groups.map((group) => ({
    ...group,
    counts: Object.fromEntries((byGroup.get(groupKeyOf(group)) ?? []).map(({ kind, count }) => [kind, Number(count)])),
  }));
}

/** Ordered by tool and group. */
export async function listFindings(
  ctx: Storage,
  filter: FindingFilter & { kinds: readonly FindingKind[] },
): Promise<ListedFinding[]> {
  const rows = await selectFindings(ctx.database.kysely, filter).execute();
  return rows.map(({ content, trainerId, displayName, state, wanted, removeAfter, ...row }) => ({
    ...row,
    kind: row.kind as FindingKind,
    account: content === null ? null : openAccount(ctx.box, row.id, content),
    member:
      trainerId === null || state === null
        ? null
        : { trainerId, displayName, state, wanted: wanted === true, removeAfter },
  }));
}

async function replaceFindings(
  tx: Transaction,
  box: SecretBox,
  { tool, groupId }: Group,
  findings: readonly Finding[],
  listedAt: string,
): Promise<void> {
  const rows = await tx
    .selectFrom('driftFinding')
    .selectAll()
    .where('tool', '=', tool)
    .where('groupId', '=', groupId)
    .execute();
  const known = new Map(rows.map((row) => [textOf(toFinding(box, row)), row]));
  const found = new Map(findings.map((one) => [textOf(one), one]));
  const gone = [...known].flatMap(([text, { id }]) => (found.has(text) ? [] : [id]));
  // It is the same account even if the tool shows another name or address of it.
  const since = new Map(rows.map((row) => [accountOf(toFinding(box, row)), row.since]));
  for (const ids of chunksOf(gone, rowsAtOnce)) await tx.deleteFrom('driftFinding').where('id', 'in', ids).execute();
  const added = [...found].flatMap(([text, one]) => (known.has(text) ? [] : [one]));
  const values = added.map(({ kind, membershipId, account }) => {
    const id = randomUUID();
    const address = account?.email?.toLowerCase();
    return {
      id,
      tool,
      groupId,
      kind,
      membershipId,
      since: since.get(accountOf({ kind, membershipId, account })) ?? listedAt,
      content: account && box.seal(Buffer.from(JSON.stringify(account)), driftFindingContext({ id })),
      addressDigest: address === undefined ? null : box.digest(address),
    };
  });
  for (const some of chunksOf(values, rowsAtOnce)) await tx.insertInto('driftFinding').values(some).execute();
}

function toFinding(box: SecretBox, { id, kind, membershipId, content }: Row<'driftFinding'>): Finding {
  return {
    kind: kind as FindingKind,
    membershipId,
    account: content === null ? null : openAccount(box, id, content),
  };
}

/** Null where its key is gone: the next listing shows the account again. */
function openAccount(box: SecretBox, id: string, content: Buffer): FoundAccount | null {
  try {
    return JSON.parse(box.open(content, driftFindingContext({ id })).toString('utf8')) as FoundAccount;
  } catch {
    return null;
  }
}

function textOf({ kind, membershipId, account }: Finding): string {
  return JSON.stringify([kind, membershipId, account?.id, account?.email, account?.name]);
}

function accountOf({ kind, membershipId, account }: Finding): string {
  return JSON.stringify([kind, membershipId, account?.id]);
}

async function countFindings(database: Database, groups: readonly Group[]) {
  if (groups.length === 0) return [];
  const groupIds = jsonTexts(
    database,
    groups.map(({ groupId }) => groupId),
  );
  return await database.kysely
    .selectFrom('driftFinding')
    .select(['tool', 'groupId', 'kind'])
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('tool', 'in', [...new Set(groups.map(({ tool }) => tool))])
    .where('groupId', 'in', groupIds)
    .groupBy(['tool', 'groupId', 'kind'])
    .execute();
}

function selectFindings(
  kysely: Transaction,
  { tool, groupId, kinds, after, limit }: FindingFilter & { kinds: readonly FindingKind[] },
) {
  let query = kysely
    .selectFrom('driftFinding')
    .innerJoin('driftListing', (join) =>
      join
        .onRef('driftListing.tool', '=', 'driftFinding.tool')
        .onRef('driftListing.groupId', '=', 'driftFinding.groupId'),
    )
    .leftJoin('membership', 'membership.id', 'driftFinding.membershipId')
    .select(['driftFinding.id', 'driftFinding.tool', 'driftFinding.groupId', 'kind', 'membershipId', 'since'])
    .select(['content', 'driftListing.install', 'listedAt', 'trainerId', 'state', 'wanted', 'removeAfter'])
    .select((eb) =>
      eb
        .selectFrom('person')
        .select((of) => of.fn.max('displayName').as('name'))
        .whereRef('person.trainerId', '=', 'membership.trainerId')
        .as('displayName'),
    )
    .where('kind', 'in', [...kinds]);
  if (tool !== undefined) query = query.where('driftFinding.tool', '=', tool);
  if (groupId !== undefined) query = query.where('driftFinding.groupId', '=', groupId);
  const key = ['driftFinding.tool', 'driftFinding.groupId', 'kind', 'driftFinding.id'] as const;
  if (after !== undefined) {
    const { kind = '', id = '' } = after;
    query = query.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(after.tool, after.groupId, kind, id)));
  }
  return query
    .orderBy('driftFinding.tool')
    .orderBy('driftFinding.groupId')
    .orderBy('kind')
    .orderBy('driftFinding.id')
    .limit(limit);
}

/**
 * Clears the accounts that a tool has listed under an address that these installs know, or knew, for a trainer. To be
 * called while these addresses are still known. The next listing shows such an account again if it is still there.
 *
 * @returns how many it cleared
 */
export async function clearFindingTraces(
  tx: Transaction,
  trainerId: string,
  installs: readonly string[],
): Promise<number> {
  if (installs.length === 0) return 0;
  const known = tx
    .selectFrom('person')
    .select('person.workEmailDigest as digest')
    .where('person.trainerId', '=', trainerId)
    .where('person.install', 'in', installs)
    .where('person.workEmailDigest', 'is not', null)
    .union(
      tx
        .selectFrom('membershipAddress')
        .select('membershipAddress.workEmailDigest as digest')
        .where('membershipAddress.trainerId', '=', trainerId)
        .where('membershipAddress.install', 'in', installs),
    );
  const { numDeletedRows } = await tx.deleteFrom('driftFinding').where('addressDigest', 'in', known).executeTakeFirst();
  return Number(numDeletedRows);
}
