import { sql } from 'kysely';
import type { Transaction } from '../db/database.ts';
import type { MembershipRow } from '../db/tables.ts';
import type { MembershipState } from '../domain/membership.ts';

/** The SQL of showing memberships to people. */

export interface MembershipFilter {
  tool?: string | undefined;
  state?: MembershipState | undefined;
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
  { tool, state, limit }: MembershipFilter,
): Promise<ListedMembership[]> {
  let query = db.selectFrom('membership').select((eb) => [
    'id',
    'tool',
    'groupId',
    'membership.trainerId',
    'wanted',
    'state',
    'memberId',
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
  if (tool !== undefined) query = query.where('tool', '=', tool);
  if (state !== undefined) query = query.where('state', '=', state);
  return await query
    .orderBy('tool')
    .orderBy('groupId')
    .orderBy('membership.trainerId')
    .limit(limit)
    .execute();
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
