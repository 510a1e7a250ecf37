import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { Row, Tables } from '../db/schema.ts';
import type { MembershipState } from '../domain/membership.ts';

/** The SQL of listing memberships for people. */

export interface MembershipFilter {
  tool?: string | undefined;
  install?: string | undefined;
  state?: MembershipState | undefined;
  /** Only memberships that wait for a work email or for the delivery of an invitation. */
  isWaiting?: true | undefined;
  /** Only members that Gangway did not add, while no operator has decided whether they stay. */
  isUndecided?: boolean | undefined;
  /** Only members whose access is due to end, the soonest first. */
  isLeaving?: boolean | undefined;
  /** In that order, only what comes after this one. */
  afterLeaving?: LeavingKey | undefined;
  /** Only what comes after this membership: the page after one that ended with it. */
  after?: Pick<Row<'membership'>, 'tool' | 'groupId' | 'trainerId' | 'id'> | undefined;
  limit: number;
}

export type ListedMembership = Pick<
  Row<'membership'>,
  | 'id'
  | 'tool'
  | 'groupId'
  | 'trainerId'
  | 'wanted'
  | 'state'
  | 'memberId'
  | 'doubtedId'
  | 'attempts'
  | 'nextAttemptAt'
  | 'failure'
  | 'updatedAt'
  | 'install'
  | 'cause'
  | 'removeAfter'
> & { displayName: string | null };

/** In how many groups each of these trainers is and is to stay; who is in none is left out. */
export async function countStaying(db: Transaction, trainerIds: readonly string[]): Promise<Map<string, number>> {
  if (trainerIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('membership')
    .select(({ fn }) => ['trainerId', fn.countAll<number>().as('count')])
    .where('trainerId', 'in', trainerIds)
    .where('wanted', '=', true)
    .where('state', 'in', ['active', 'invited'])
    .groupBy('trainerId')
    .execute();
  return new Map(rows.map(({ trainerId, count }) => [trainerId, Number(count)]));
}

export async function listMemberships(
  db: Transaction,
  { tool, install, state, isWaiting, isUndecided, isLeaving, afterLeaving, after, limit }: MembershipFilter,
): Promise<ListedMembership[]> {
  let query = selectListed(db);
  if (tool !== undefined) query = query.where('tool', '=', tool);
  if (install !== undefined) query = query.where('membership.install', '=', install);
  if (state !== undefined) query = query.where('state', '=', state);
  if (isWaiting) query = query.where((eb) => eb.or([eb('state', '=', 'waiting_email'), isInvitationUndelivered(eb)]));
  if (isUndecided) query = query.where(undecided);
  if (isLeaving) {
    const soonest = query.where(leaving).orderBy(leavesAt).orderBy('id');
    return await (afterLeaving ? soonest.where(isAfterLeaving(afterLeaving)) : soonest).limit(limit).execute();
  }
  if (after !== undefined) {
    const { tool: ofTool, groupId, trainerId, id } = after;
    const key = ['tool', 'groupId', 'membership.trainerId', 'id'] as const;
    query = query.where((eb) => eb(eb.refTuple(...key), '>', eb.tuple(ofTool, groupId, trainerId, id)));
  }
  const ordered = query.orderBy('tool').orderBy('groupId').orderBy('membership.trainerId').orderBy('id');
  return await ordered.limit(limit).execute();
}

/** Where a membership stands in the order in which access ends. */
export interface LeavingKey {
  leavesAt: string;
  id: number;
}

/** A removal without a time is due now; one that a plan holds comes last. The index has the same expressions. */
export const leavesAt = sql<string>`case state when 'held' then 'held' else coalesce(remove_after, '') end`;
export const leaving = sql<SqlBool>`state || '' in ('removing', 'held')`;

export function isAfterLeaving(key: LeavingKey): Expression<SqlBool> {
  return sql<SqlBool>`(${leavesAt}, membership.id) > (${key.leavesAt}, ${key.id})`;
}

export function leavingKeyOf({
  state,
  removeAfter,
  id,
}: Pick<Row<'membership'>, 'state' | 'removeAfter' | 'id'>): LeavingKey {
  return { leavesAt: state === 'held' ? 'held' : (removeAfter ?? ''), id };
}

/** As any install knows it. */
export function trainerName(eb: ExpressionBuilder<Tables, 'membership'>) {
  return eb
    .selectFrom('person')
    .select((of) => of.fn.max('displayName').as('name'))
    .whereRef('person.trainerId', '=', 'membership.trainerId')
    .as('displayName');
}

function selectListed(db: Transaction) {
  return db
    .selectFrom('membership')
    .select((eb) => [
      'id',
      'tool',
      'groupId',
      'membership.trainerId',
      'wanted',
      'state',
      'memberId',
      'doubtedId',
      'attempts',
      'nextAttemptAt',
      'failure',
      'updatedAt',
      'membership.install',
      'cause',
      'removeAfter',
      trainerName(eb),
    ]);
}

/** Whether the trainer is wanted, but the invitation has not been delivered. */
export function isInvitationUndelivered(eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> {
  const undelivered = eb
    .selectFrom('invitation')
    .select('invitation.membershipId')
    .where('content', 'is not', null)
    .where('deliveredAt', 'is', null);
  return eb.and([
    eb('wanted', '=', true),
    // As a computed text, or SQLite would search all who are in: few of them have such an invitation.
    eb(sql<string>`membership.state || ''`, 'in', ['invited', 'active']),
    eb('membership.id', 'in', undelivered),
  ]);
}

/**
 * Protected members with a contract are left out: the configuration has decided about them. The first conditions are
 * those of the index.
 */
const undecided = sql<SqlBool>`(is_ours = 0 and released_by is null and state in ('active', 'invited', 'released')
  and (wanted = 0 or state <> 'released'))`;

/** How many of the undecided are still wanted, and how many were left in after their last reason ended. */
export async function countUndecided(db: Transaction): Promise<{ wanted: number; leftIn: number }> {
  const rows = await db
    .selectFrom('membership')
    .select(({ fn }) => ['wanted', fn.countAll<number>().as('count')])
    .where(undecided)
    .groupBy('wanted')
    .execute();
  const count = (wanted: boolean) => Number(rows.find((row) => row.wanted === wanted)?.count ?? 0);
  return { wanted: count(true), leftIn: count(false) };
}

/** Members whose removal waits for an operator. */
export async function countHeld(db: Transaction): Promise<number> {
  const held = db.selectFrom('membership').where('state', '=', 'held');
  const { n } = await held.select((eb) => eb.fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  return Number(n);
}

/** @param install whose; by default those of all */
export async function countByState(
  db: Transaction,
  install?: string,
): Promise<{ tool: string; state: MembershipState; count: number }[]> {
  let query = db.selectFrom('membership');
  if (install !== undefined) query = query.where('install', '=', install);
  return await query
    .select(['tool', 'state', sql<number>`count(*)`.as('count')])
    .groupBy(['tool', 'state'])
    .execute();
}
