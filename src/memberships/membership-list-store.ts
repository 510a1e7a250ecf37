import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Storage } from '../context.ts';
import type { Database, Transaction } from '../db/database.ts';
import { countRows, given, jsonTexts, onSame } from '../db/query.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { MembershipState } from '../domain/membership.ts';

// The SQL of showing memberships to people: lists, counts and names.

interface MembershipFilter {
  tool?: string | undefined;
  install?: string | undefined;
  state?: MembershipState | undefined;
  trainerId?: string | undefined;
  /** Only memberships that wait for a work email or for the delivery of an invitation. */
  isWaiting?: true | undefined;
  /** Only members whom Gangway did not add, until an operator has decided whether they stay. */
  isUndecided?: boolean | undefined;
  /** Only members whose access is due to end, the soonest first. */
  isLeaving?: boolean | undefined;
  /** In that order, only memberships after this one. */
  afterLeaving?: LeavingKey | undefined;
  limit: number;
}

/** By group and trainer. */
interface InGroupOrder extends MembershipFilter {
  /** Only memberships after this one. */
  after?: Pick<Row<'membership'>, 'tool' | 'groupId' | 'trainerId' | 'id'> | undefined;
}

export interface AccessFilter extends MembershipFilter {
  /** The customer's id of the project, or the id of the group in the tool. */
  project?: string | undefined;
  /** A contract that is, or was, a reason. */
  contractId?: string | undefined;
  /** Part of a name or of a project, or a whole id; or an address, by its digest. */
  search?: { text: string; digest: string } | undefined;
  /** Only memberships with a smaller id: the page before one that was listed. */
  before?: number | undefined;
}

const listed = [
  ...(['id', 'tool', 'groupId', 'membership.trainerId', 'membership.install', 'wanted', 'state', 'memberId'] as const),
  ...(['doubtedId', 'attempts', 'nextAttemptAt', 'failure', 'updatedAt', 'cause', 'removeAfter'] as const),
];

export type ListedMembership = Awaited<ReturnType<typeof listMemberships>>[number];

type MembershipBuilder = ExpressionBuilder<Tables, 'membership'>;

/** The number of groups that each of these trainers stays in. Trainers in none are left out. */
export async function countStaying(db: Transaction, trainerIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('membership')
    .select(({ fn }) => ['trainerId', fn.countAll<number>().as('count')])
    .where('trainerId', 'in', trainerIds)
    .where('wanted', '=', true)
    .where('state', 'in', ['active', 'invited'])
    .groupBy('trainerId')
    .execute();
  return new Map(rows.map(({ trainerId, count }) => [trainerId, count]));
}

export async function listMemberships(db: Transaction, { after, ...filter }: InGroupOrder) {
  const matching = selectMatching(db, filter);
  if (filter.isLeaving) return await matching.execute();
  const key = ['tool', 'groupId', 'membership.trainerId', 'id'] as const;
  const ordered = matching.orderBy('tool').orderBy('groupId').orderBy('membership.trainerId').orderBy('id');
  if (after === undefined) return await ordered.execute();
  const { tool, groupId, trainerId, id } = after;
  return await ordered.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(tool, groupId, trainerId, id))).execute();
}

/** Memberships with all their recorded reasons, the newest first. */
export async function listAccess(db: Transaction, { project, contractId, search, before, ...filter }: AccessFilter) {
  let query = selectMatching(db, filter);
  if (before !== undefined) query = query.where('id', '<', before);
  if (contractId !== undefined) query = query.where((eb) => eb('id', 'in', ofContract(eb, contractId)));
  if (project !== undefined) {
    query = query.where((eb) => eb.or([eb('groupId', '=', project), eb('id', 'in', ofProject(eb, project))]));
  }
  if (search !== undefined) query = query.where((eb) => matches(eb, search));
  const rows = await (filter.isLeaving ? query : query.orderBy('id', 'desc')).execute();
  const ids = rows.map(({ id }) => id);
  const byMembership = Map.groupBy(await listReasons(db, ids), ({ membershipId }) => membershipId);
  return rows.map((row) => ({ ...row, reasons: byMembership.get(row.id) ?? [] }));
}

function selectMatching(db: Transaction, filter: MembershipFilter) {
  const { tool, install, state, trainerId, isWaiting, isUndecided, isLeaving, afterLeaving, limit } = filter;
  const values = given({ tool, state, 'membership.install': install, 'membership.trainerId': trainerId });
  let query = db
    .selectFrom('membership')
    .select(listed)
    .select(trainerName)
    .where((eb) => eb.and(values))
    .limit(limit);
  if (isWaiting) query = query.where((eb) => eb.or([eb('state', '=', 'waiting_email'), isInvitationUndelivered(eb)]));
  if (isUndecided) query = query.where(undecided);
  if (isLeaving) query = query.where(leaving).orderBy(leavesAt).orderBy('id');
  return afterLeaving === undefined ? query : query.where(isAfterLeaving(afterLeaving));
}

/** The position of a membership in the order in which access ends. */
export interface LeavingKey {
  leavesAt: string;
  id: number;
}

/** A removal without a time is due now, and a held one comes last. The index has the same expressions. */
const leavesAt = sql<string>`case state when 'held' then 'held' else coalesce(remove_after, '') end`;
const leaving = sql<SqlBool>`state || '' in ('removing', 'held')`;

function isAfterLeaving(key: LeavingKey): Expression<SqlBool> {
  return sql<SqlBool>`(${leavesAt}, membership.id) > (${key.leavesAt}, ${key.id})`;
}

export function leavingKeyOf({
  state,
  removeAfter,
  id,
}: Pick<Row<'membership'>, 'state' | 'removeAfter' | 'id'>): LeavingKey {
  return { leavesAt: state === 'held' ? 'held' : (removeAfter ?? ''), id };
}

/** The trainer's name, as any install knows it. */
export function trainerName(eb: MembershipBuilder) {
  return eb
    .selectFrom('person')
    .select((of) => of.fn.max('displayName').as('name'))
    .whereRef('person.trainerId', '=', 'membership.trainerId')
    .as('displayName');
}

/** Whether the trainer is wanted, but the invitation has not been delivered. */
export function isInvitationUndelivered(eb: MembershipBuilder): Expression<SqlBool> {
  const undelivered = eb
    .selectFrom('invitation')
    .select('invitation.membershipId')
    .where('content', 'is not', null)
    .where('deliveredAt', 'is', null);
  return eb.and([
    eb('wanted', '=', true),
    // As an expression, or SQLite would search all members by state. Few of them have such an invitation.
    eb(sql<string>`membership.state || ''`, 'in', ['invited', 'active']),
    eb('membership.id', 'in', undelivered),
  ]);
}

/**
 * Leaves out protected members with a contract, as decided by the configuration. The first line is that of the index.
 */
const undecided = sql<SqlBool>`(is_ours = 0 and released_by is null and state in ('active', 'invited', 'released')
  and (wanted = 0 or state <> 'released'))`;

/** Counts the undecided members who are wanted, and those who were left in when their last reason ended. */
export async function countUndecided(db: Transaction): Promise<{ wanted: number; leftIn: number }> {
  const rows = await db
    .selectFrom('membership')
    .select(({ fn }) => ['wanted', fn.countAll<number>().as('count')])
    .where(undecided)
    .groupBy('wanted')
    .execute();
  const count = (wanted: boolean) => rows.find((row) => row.wanted === wanted)?.count ?? 0;
  return { wanted: count(true), leftIn: count(false) };
}

/** Members whose removal waits for an operator. */
export async function countHeld(db: Transaction): Promise<number> {
  return await countRows(db.selectFrom('membership').where('state', '=', 'held'));
}

export async function countByState(db: Transaction, install?: string) {
  return await db
    .selectFrom('membership')
    .where((eb) => eb.and(given({ install })))
    .select(['tool', 'state', sql<number>`count(*)`.as('count')])
    .groupBy(['tool', 'state'])
    .execute();
}

function ofContract(eb: MembershipBuilder, contractId: string) {
  return eb.selectFrom('reason').select('membershipId').where('contractId', '=', contractId);
}

function ofProject(eb: MembershipBuilder, project: string) {
  return reasonsWithLinks(eb).where('link.externalProjectId', '=', project);
}

function reasonsWithLinks(eb: MembershipBuilder) {
  return eb
    .selectFrom('reason')
    .innerJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .select('reason.membershipId');
}

/** The subqueries do not depend on the membership, so the database runs each only once. */
function matches(eb: MembershipBuilder, { text, digest }: NonNullable<AccessFilter['search']>) {
  const pattern = `%${text.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`;
  const isLike = (column: string) => sql<boolean>`lower(${sql.ref(column)}) like ${pattern} escape '!'`;
  const people = eb
    .selectFrom('person')
    .select('person.trainerId')
    .where((inner) => inner.or([isLike('person.displayName'), inner('workEmailDigest', '=', digest)]));
  const linked = reasonsWithLinks(eb).where((inner) =>
    inner.or([isLike('link.externalProjectId'), isLike('link.externalProjectName')]),
  );
  return eb.or([
    eb('membership.trainerId', '=', text),
    eb('groupId', '=', text),
    eb('membership.trainerId', 'in', people),
    eb('id', 'in', linked),
  ]);
}

async function listReasons(kysely: Transaction, membershipIds: readonly number[]) {
  return await kysely
    .selectFrom('reason')
    .leftJoin('link', onSame('link', 'reason', ['install', 'linkId']))
    .leftJoin('contract', onSame('contract', 'reason', ['install', 'contractId']))
    .select([
      'reason.membershipId',
      'reason.install',
      'reason.contractId',
      'reason.linkId',
      'contract.title',
      'contract.endDate',
      'link.externalProjectId',
      'link.externalProjectName',
    ])
    .where('reason.membershipId', 'in', membershipIds)
    .orderBy('reason.membershipId')
    .orderBy('reason.contractId')
    .orderBy('reason.linkId')
    .execute();
}

const stuckStates = ['failed', 'waiting_email', 'orphaned'] as const;

/** Counts memberships that need an operator, and since when. Each counts for every install with a reason for it. */
export async function countStuckPeople({ kysely }: Database) {
  const rows = await kysely
    .selectFrom('membership')
    .leftJoin('reason', 'reason.membershipId', 'membership.id')
    .select((eb) => [
      eb.fn.coalesce('reason.install', 'membership.install').as('install'),
      'state',
      'tool',
      eb.fn.count<number>('membership.id').distinct().as('count'),
      eb.fn.min('membership.updatedAt').as('since'),
    ])
    .where('state', 'in', stuckStates)
    .groupBy((eb) => [eb.fn.coalesce('reason.install', 'membership.install'), 'state', 'tool'])
    .$narrowType<{ state: (typeof stuckStates)[number] }>()
    .execute();
  return rows.map((row) => ({ ...row, count: Number(row.count) }));
}

/** The rows with the names of their trainers, if an install knows them. */
export async function nameEach<R extends { trainerId: string }>({ database }: Storage, rows: readonly R[]) {
  const people = await database.kysely
    .selectFrom('person')
    .select((eb) => ['trainerId', eb.fn.max('displayName').as('name')])
    .where('trainerId', 'in', jsonTexts(database, [...new Set(rows.map(({ trainerId }) => trainerId))]))
    .where('displayName', 'is not', null)
    .groupBy('trainerId')
    .execute();
  const names = new Map(people.map(({ trainerId, name }) => [trainerId, name]));
  return rows.map((row): R & { displayName: string | null } => ({
    ...row,
    displayName: names.get(row.trainerId) ?? null,
  }));
}
