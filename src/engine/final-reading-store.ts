import type { Transaction } from '../db/database.ts';
import { toInstant } from '../lib/clock.ts';
import type { DueMembership } from './brake-store.ts';

/**
 * The SQL of waiting for the work of somebody to be read before they are taken out. A removal that is
 * due waits until a reading that began after that has ended, and for five minutes at most: then
 * access falls anyway, and its receipt says so.
 */
export interface FinalReadingStore {
  /** @returns which of those that are due need not wait (any longer) */
  mayPass(tx: Transaction, due: readonly DueMembership[], now: Date): Promise<ReadonlySet<number>>;
}

const longestWaitMs = 5 * 60_000;
/** By then it was looked where people work: every minute it is. */
const undiscoveredMs = 2 * 60_000;

/** @param tellsWork whether the work in a tool can be read at all */
export function createFinalReadingStore(tellsWork: (tool: string) => boolean): FinalReadingStore {
  return {
    async mayPass(tx, due, now) {
      const passing = new Set<number>();
      for (const one of due) {
        if (!tellsWork(one.tool) || (await hasWaited(tx, one, now))) passing.add(one.membershipId);
      }
      return passing;
    },
  };
}

async function hasWaited(
  tx: Transaction,
  { membershipId, generation }: DueMembership,
  now: Date,
): Promise<boolean> {
  const waiting = await tx
    .selectFrom('finalReading')
    .select('wantedAt')
    .where('membershipId', '=', membershipId)
    .where('generation', '=', generation)
    .executeTakeFirst();
  if (waiting === undefined) {
    if ((await placesOf(tx, membershipId)).length === 0) {
      return !(await wasAddedSince(tx, membershipId, new Date(now.getTime() - undiscoveredMs)));
    }
    await wantReading(tx, membershipId, generation, toInstant(now));
    return false;
  }
  if (await wasRead(tx, membershipId, waiting.wantedAt)) return true;
  if (now.getTime() - Date.parse(waiting.wantedAt) < longestWaitMs) return false;
  await tx
    .updateTable('finalReading')
    .set({ isUnread: 1 })
    .where('membershipId', '=', membershipId)
    .execute();
  return true;
}

/** Whoever was let in just now may be at work where nobody has looked yet. */
async function wasAddedSince(tx: Transaction, membershipId: number, since: Date): Promise<boolean> {
  const added = await tx
    .selectFrom('intent')
    .select('id')
    .where((eb) => eb.and({ membershipId, operation: 'add' }))
    .where('createdAt', '>', toInstant(since))
    .executeTakeFirst();
  return added !== undefined;
}

async function wantReading(
  tx: Transaction,
  membershipId: number,
  generation: number,
  wantedAt: string,
): Promise<void> {
  const again = { generation, wantedAt, isUnread: 0, reportedAt: null, reportAfter: null };
  await tx
    .insertInto('finalReading')
    .values({ membershipId, ...again })
    .onConflict((conflict) => conflict.column('membershipId').doUpdateSet(again))
    .execute();
  const places = await placesOf(tx, membershipId);
  for (const place of places) {
    await tx
      .updateTable('usagePlace')
      .set({ nextReadAt: wantedAt, attempts: 0 })
      .where((eb) => eb.and({ tool: place.tool, scope: place.scope }))
      .execute();
  }
}

/** Who was taken out, as they were known when that was claimed. */
interface TakenOut {
  id: number;
  generation: number;
  memberId: string | null;
}

/**
 * What is to be said with a removal before which nobody could read the work; or null.
 *
 * @param foundId the account that was taken out
 */
export async function unreadNote(
  tx: Transaction,
  { id, generation, memberId }: TakenOut,
  foundId: string | undefined,
): Promise<string | null> {
  const reading = await tx
    .selectFrom('finalReading')
    .select(['wantedAt', 'isUnread'])
    .where((eb) => eb.and({ membershipId: id, generation }))
    .executeTakeFirst();
  if (reading === undefined) return null;
  if (reading.isUnread === 1) {
    return `Their work could not be read before, from ${reading.wantedAt} on: what they did last may not be reported`;
  }
  // The last reading knew nothing of an account that is found only now.
  if (foundId === undefined || foundId === memberId) return null;
  return 'Their account was first seen after the last reading of work: what they did in it may not be reported';
}

/** Every place where they may have worked: a group may have several. */
async function wasRead(tx: Transaction, membershipId: number, since: string): Promise<boolean> {
  const places = await placesOf(tx, membershipId);
  return places.every(({ readBeganAt }) => readBeganAt !== null && readBeganAt >= since);
}

async function placesOf(tx: Transaction, membershipId: number) {
  return await tx
    .selectFrom('usagePlace')
    .innerJoin('usagePlaceGroup', (join) =>
      join
        .onRef('usagePlaceGroup.tool', '=', 'usagePlace.tool')
        .onRef('usagePlaceGroup.scope', '=', 'usagePlace.scope'),
    )
    .innerJoin('membership', (join) =>
      join
        .onRef('membership.tool', '=', 'usagePlaceGroup.tool')
        .onRef('membership.groupId', '=', 'usagePlaceGroup.groupId'),
    )
    .select(['usagePlace.tool', 'usagePlace.scope', 'usagePlace.readBeganAt'])
    .where('membership.id', '=', membershipId)
    .execute();
}
