import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { MembershipRow, Tables } from '../db/tables.ts';
import type { MembershipState } from '../domain/membership.ts';

/** The SQL of listing memberships for people. */

export interface MembershipFilter {
  tool?: string | undefined;
  install?: string | undefined;
  state?: MembershipState | undefined;
  /** Only memberships that wait for a work email or for the delivery of an invitation. */
  isWaiting?: true | undefined;
  limit: number;
}

export type ListedMembership = Pick<
  MembershipRow,
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

export async function listMemberships(
  db: Transaction,
  { tool, install, state, isWaiting, limit }: MembershipFilter,
): Promise<ListedMembership[]> {
  let query = selectListed(db);
  if (tool !== undefined) query = query.where('tool', '=', tool);
  if (install !== undefined) query = query.where('membership.install', '=', install);
  if (state !== undefined) query = query.where('state', '=', state);
  if (isWaiting) query = query.where((eb) => eb.or([eb('state', '=', 'waiting_email'), isInvitationUndelivered(eb)]));
  return await query.orderBy('tool').orderBy('groupId').orderBy('membership.trainerId').limit(limit).execute();
}

function selectListed(db: Transaction) {
  return db.selectFrom('membership').select((eb) => [
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
    eb
      .selectFrom('person')
      .select((inner) => inner.fn.max('displayName').as('name'))
      .whereRef('person.trainerId', '=', 'membership.trainerId')
      .as('displayName'),
  ]);
}

/** What a page of memberships shows. All that is given must match. */
export interface AccessFilter {
  tool?: string | undefined;
  state?: MembershipState | undefined;
  install?: string | undefined;
  /** The group, exactly. */
  group?: string | undefined;
  /** An id of a trainer, a part of a name, or an address. */
  trainer?: { text: string; digests: readonly string[] } | undefined;
  /** Only memberships with a smaller id: the page before one that was listed. */
  before?: number | undefined;
  limit: number;
}

/** A page of memberships, the newest first, each with the contracts that give access. */
export async function pageMemberships(
  db: Transaction,
  { tool, state, install, group, trainer, before, limit }: AccessFilter,
): Promise<(ListedMembership & { contracts: string[] })[]> {
  let query = selectListed(db);
  if (tool !== undefined) query = query.where('tool', '=', tool);
  if (install !== undefined) query = query.where('membership.install', '=', install);
  if (state !== undefined) query = query.where('state', '=', state);
  if (install !== undefined) query = query.where('membership.install', '=', install);
  if (group !== undefined) query = query.where('groupId', '=', group);
  if (before !== undefined) query = query.where('id', '<', before);
  if (trainer !== undefined) query = query.where('membership.trainerId', 'in', trainersLike(db, trainer));
  const rows = await query.orderBy('id', 'desc').limit(limit).execute();
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const reasons = await db
    .selectFrom('reason')
    .select(['membershipId', 'contractId'])
    .distinct()
    .where('membershipId', 'in', ids)
    .orderBy('contractId')
    .execute();
  const byMembership = Map.groupBy(reasons, ({ membershipId }) => membershipId);
  return rows.map((row) => ({
    ...row,
    contracts: (byMembership.get(row.id) ?? []).map(({ contractId }) => contractId),
  }));
}

function trainersLike(db: Transaction, { text, digests }: NonNullable<AccessFilter['trainer']>) {
  const part = `%${text.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`;
  return db
    .selectFrom('person')
    .select('person.trainerId')
    .where((eb) =>
      eb.or([
        eb('person.trainerId', '=', text),
        sql<boolean>`lower(display_name) like ${part} escape '\\'`,
        eb('workEmailDigest', 'in', digests),
      ]),
    );
}

/** Whether the trainer is wanted, but the invitation has not been delivered. */
export function isInvitationUndelivered(eb: ExpressionBuilder<Tables, 'membership'>): Expression<SqlBool> {
  const invitation = eb
    .selectFrom('invitation')
    .select('invitation.membershipId')
    .whereRef('invitation.membershipId', '=', 'membership.id')
    .where('content', 'is not', null)
    .where('deliveredAt', 'is', null);
  return eb.and([eb('wanted', '=', 1), eb('state', 'in', ['invited', 'active']), eb.exists(invitation)]);
}

export async function countByState(
  db: Transaction,
): Promise<{ tool: string; state: MembershipState; count: number }[]> {
  return await db
    .selectFrom('membership')
    .select(['tool', 'state', sql<number>`count(*)`.as('count')])
    .groupBy(['tool', 'state'])
    .execute();
}
