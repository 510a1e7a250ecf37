import { inTransaction, type Transaction } from '../db/database.ts';
import { isFree } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';
import type { Storage } from '../keys/storage.ts';

// The only SQL about how far the feeds were read.

export interface FeedName {
  install: string;
  /** The account. */
  grantId: string;
}

export interface ClaimedFeed extends FeedName {
  cursor: string | null;
  failures: number;
  failingSince: string | null;
}

/** Forgets the feed of an install that is removed. */
export async function dropFeed(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('feed').where('install', '=', install).execute();
}

/** The feeds of these installs that are due, the longest first. An install is known once it was bound to an account. */
export async function listDueFeeds(ctx: Storage, installs: readonly string[], now: string): Promise<FeedName[]> {
  if (installs.length === 0) return [];
  return await ctx.database.kysely
    .selectFrom('installBinding')
    .leftJoin('feed', (join) =>
      join.onRef('feed.install', '=', 'installBinding.install').onRef('feed.grantId', '=', 'installBinding.grantId'),
    )
    .select(['installBinding.install', 'installBinding.grantId'])
    .where('installBinding.install', 'in', installs)
    .where((eb) => eb.or([eb('feed.nextReadAt', 'is', null), eb('feed.nextReadAt', '<=', now)]))
    .where(isFree('feed', now))
    .orderBy((eb) => eb.fn.coalesce('feed.nextReadAt', eb.val('')))
    .orderBy('installBinding.install')
    .execute();
}

/** @returns undefined if another process has just claimed it */
export async function claimFeed(
  ctx: Storage,
  { install, grantId }: FeedName,
  now: string,
  leasedUntil: string,
): Promise<ClaimedFeed | undefined> {
  const unread = { cursor: null, readAt: null, failures: 0, failure: null, failingSince: null };
  const first = { install, grantId, nextReadAt: now, leasedUntil, ...unread };
  return await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('feed')
      .values(first)
      .onConflict((conflict) =>
        conflict
          .columns(['install', 'grantId'])
          .doUpdateSet({ leasedUntil })
          .where('feed.nextReadAt', '<=', now)
          .where(isFree('feed', now)),
      )
      .returning(['install', 'grantId', 'cursor', 'failures', 'failingSince'])
      .executeTakeFirst(),
  );
}

/**
 * Every event up to `to` is stored. Of two that read the same page, one moves it.
 *
 * @returns false if another process has moved it meanwhile
 */
export function moveFeed(
  ctx: Storage,
  claimed: ClaimedFeed,
  cursor: string | null,
  at: { readAt: string; nextReadAt: string },
): Promise<boolean> {
  const answered = { failures: 0, failure: null, failingSince: null };
  return updateFeed(ctx, claimed, { ...at, ...answered, cursor, leasedUntil: null });
}

export async function postponeFeed(
  ctx: Storage,
  claimed: ClaimedFeed,
  failure: string,
  at: { failingSince: string; nextReadAt: string },
): Promise<void> {
  await updateFeed(ctx, claimed, { ...at, failure, failures: claimed.failures + 1, leasedUntil: null });
}

/** The cursor is not known to the marketplace (any more): the next reading begins with the first event. */
export async function startFeedOver(ctx: Storage, claimed: ClaimedFeed): Promise<void> {
  await updateFeed(ctx, claimed, { cursor: null });
}

/** Ends a claim. */
export async function releaseFeed(ctx: Storage, claimed: ClaimedFeed): Promise<void> {
  await updateFeed(ctx, claimed, { leasedUntil: null });
}

/** Makes the feed of an install due, unless its readings fail. */
export async function wantFeedRead(ctx: Storage, install: string, now: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('feed')
      .set({ nextReadAt: now })
      .where('install', '=', install)
      .where('nextReadAt', '>', now)
      .where('failures', '=', 0)
      .execute(),
  );
}

function updateFeed(
  ctx: Storage,
  { install, grantId, cursor }: ClaimedFeed,
  changes: Partial<Row<'feed'>>,
): Promise<boolean> {
  return inTransaction(ctx.database, async (tx) => {
    const updated = await tx
      .updateTable('feed')
      .set(changes)
      .where('install', '=', install)
      .where('grantId', '=', grantId)
      .where('cursor', cursor === null ? 'is' : '=', cursor)
      .executeTakeFirst();
    return updated.numUpdatedRows > 0n;
  });
}
