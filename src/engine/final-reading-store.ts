import type { Transaction } from '../db/database.ts';
import { toInstant } from '../lib/clock.ts';
import type { DueMembership } from './brake-store.ts';

/**
 * The SQL of waiting for the work of somebody to be read before they are taken out. A removal that is
 * due waits until a reading that began after that has ended, and for five minutes at most, or until
 * the place refuses to be read: then access falls anyway, and its receipt says so.
 */
export interface FinalReadingStore {
  /** @returns which of those that are due need not wait (any longer) */
  mayPass(tx: Transaction, due: readonly DueMembership[], now: Date): Promise<ReadonlySet<number>>;
}

const longestWaitMs = 5 * 60_000;

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
    if ((await placesOf(tx, membershipId)).length === 0) return true;
    await wantReading(tx, membershipId, generation, toInstant(now));
    return false;
  }
  if (await wasRead(tx, membershipId, waiting.wantedAt)) return true;
  const hasTime = now.getTime() - Date.parse(waiting.wantedAt) < longestWaitMs;
  if (hasTime && !(await isRefused(tx, membershipId, waiting.wantedAt))) return false;
  await tx
    .updateTable('finalReading')
    .set({ isUnread: 1 })
    .where('membershipId', '=', membershipId)
    .execute();
  return true;
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

/** What is to be said with a removal before which nobody could read the work; or null. */
export async function unreadNote(
  tx: Transaction,
  { id, generation }: { id: number; generation: number },
): Promise<string | null> {
  const unread = await tx
    .selectFrom('finalReading')
    .select('wantedAt')
    .where((eb) => eb.and({ membershipId: id, generation, isUnread: 1 }))
    .executeTakeFirst();
  if (unread === undefined) return null;
  return `Their work could not be read before, from ${unread.wantedAt} on: what they did last may not be reported`;
}

/** Every place where they may have worked: a group may have several. */
async function wasRead(tx: Transaction, membershipId: number, since: string): Promise<boolean> {
  const places = await placesOf(tx, membershipId);
  return places.every(({ readBeganAt }) => readBeganAt !== null && readBeganAt >= since);
}

/** Whether waiting is of no use: whatever was not read since then has been refused since. */
async function isRefused(tx: Transaction, membershipId: number, since: string): Promise<boolean> {
  const isAfter = (at: string | null) => at !== null && at >= since;
  const places = await placesOf(tx, membershipId);
  return places.every(({ readBeganAt, refusedAt }) => isAfter(readBeganAt) || isAfter(refusedAt));
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
    .select(['usagePlace.tool', 'usagePlace.scope'])
    .select(['usagePlace.readBeganAt', 'usagePlace.refusedAt'])
    .where('membership.id', '=', membershipId)
    .execute();
}
