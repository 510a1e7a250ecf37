import { sql } from 'kysely';
import type { Act } from '../db/audit-store.ts';
import type { Database } from '../db/database.ts';

/** The SQL of a timeline: calls to the tools, and decisions of operators. The newest rows come first. */

/** One membership, or those of a trainer or a contract. */
export type TimelineSubject = { id: number } | { trainerId: string } | { contractId: string };

export type TimelineMembership = Awaited<ReturnType<typeof listTimelineMemberships>>[number];
export type KnownIntent = Awaited<ReturnType<typeof listIntents>>[number];
export type KnownReceipt = Awaited<ReturnType<typeof listReceipts>>[number];

type Kysely = Database['kysely'];

export async function listTimelineMemberships(kysely: Kysely, of: TimelineSubject, limit: number) {
  let query = kysely
    .selectFrom('membership')
    .select(['id', 'tool', 'groupId', 'trainerId', 'wanted', 'state', 'unmetSince']);
  if ('id' in of) query = query.where('id', '=', of.id);
  if ('trainerId' in of) query = query.where('trainerId', '=', of.trainerId);
  if ('contractId' in of) {
    const { contractId } = of;
    query = query.where((eb) =>
      eb('id', 'in', eb.selectFrom('reason').select('membershipId').where('contractId', '=', contractId)),
    );
  }
  return await query.orderBy('id', 'desc').limit(limit).execute();
}

export async function listIntents(kysely: Kysely, membershipIds: number[], limit: number) {
  if (membershipIds.length === 0) return [];
  return await kysely
    .selectFrom('intent')
    .select(['id', 'membershipId', 'operation', 'wasFound', 'createdAt'])
    .where('membershipId', 'in', membershipIds)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

export async function listReceipts(kysely: Kysely, membershipIds: number[], limit: number) {
  if (membershipIds.length === 0) return [];
  return await kysely
    .selectFrom('receipt')
    .select(['id', 'membershipId', 'operation', 'outcome', 'toolStatus', 'message', 'createdAt', 'metAfterMs'])
    .where('membershipId', 'in', membershipIds)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** The acts of operators about these subjects, and those by which they forgot these trainers. */
export async function listActsAbout(
  kysely: Kysely,
  { subjects, trainerIds }: { subjects: readonly string[]; trainerIds: readonly string[] },
  limit: number,
): Promise<Act[]> {
  if (subjects.length === 0) return [];
  const acts = kysely.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
  const about = await acts.where('subject', 'in', subjects).execute();
  if (trainerIds.length === 0) return about;
  const forgotten = trainerIds.map((id) => `trainer ${id} at `);
  const begins = (start: string) => sql<boolean>`substr(subject, 1, ${start.length}) = ${start}`;
  const forgets = await acts
    .where('action', '=', 'forget')
    .where((eb) => eb.or(forgotten.map(begins)))
    .execute();
  return [...about, ...forgets];
}

/** The plans that ever held these memberships. */
export async function listPlansOf(kysely: Kysely, membershipIds: number[], limit: number): Promise<number[]> {
  if (membershipIds.length === 0) return [];
  const items = await kysely
    .selectFrom('planItem')
    .select('planId')
    .distinct()
    .where('membershipId', 'in', membershipIds)
    .orderBy('planId', 'desc')
    .limit(limit)
    .execute();
  return items.map(({ planId }) => planId);
}
