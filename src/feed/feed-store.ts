import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { isFree } from '../db/lease.ts';
import type { Row } from '../db/schema.ts';

/** The only SQL about how far the feeds were read. */
export interface FeedStore {
  /** The feeds of these installs that are due, the longest first. An install is known once it was bound to an account. */
  due(installs: readonly string[], now: string): Promise<FeedName[]>;
  /** @returns undefined if another process has just claimed it */
  claim(name: FeedName, now: string, leasedUntil: string): Promise<ClaimedFeed | undefined>;
  /**
   * Every event up to `to` is stored. Of two that read the same page, one moves it.
   *
   * @returns false if another process has moved it meanwhile
   */
  move(claimed: ClaimedFeed, to: string | null, at: { readAt: string; nextReadAt: string }): Promise<boolean>;
  postpone(claimed: ClaimedFeed, failure: string, at: { failingSince: string; nextReadAt: string }): Promise<void>;
  /** The cursor is not known to the marketplace (any more): the next reading begins with the first event. */
  startOver(claimed: ClaimedFeed): Promise<void>;
  /** Ends a claim. */
  release(claimed: ClaimedFeed): Promise<void>;
  /** Makes the feed of an install due, unless its readings fail. */
  wantRead(install: string, now: string): Promise<void>;
}

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

export function createFeedStore(database: Database): FeedStore {
  const { kysely } = database;

  function update({ install, grantId, cursor }: ClaimedFeed, changes: Partial<Row<'feed'>>): Promise<boolean> {
    return inTransaction(database, async (tx) => {
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

  return {
    async due(installs, now) {
      if (installs.length === 0) return [];
      return await kysely
        .selectFrom('installBinding')
        .leftJoin('feed', (join) =>
          join
            .onRef('feed.install', '=', 'installBinding.install')
            .onRef('feed.grantId', '=', 'installBinding.grantId'),
        )
        .select(['installBinding.install', 'installBinding.grantId'])
        .where('installBinding.install', 'in', installs)
        .where((eb) => eb.or([eb('feed.nextReadAt', 'is', null), eb('feed.nextReadAt', '<=', now)]))
        .where(isFree('feed', now))
        .orderBy((eb) => eb.fn.coalesce('feed.nextReadAt', eb.val('')))
        .orderBy('installBinding.install')
        .execute();
    },

    async claim({ install, grantId }, now, leasedUntil) {
      const unread = { cursor: null, readAt: null, failures: 0, failure: null, failingSince: null };
      const first = { install, grantId, nextReadAt: now, leasedUntil, ...unread };
      return await inTransaction(database, (tx) =>
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
    },

    move(claimed, cursor, at) {
      const answered = { failures: 0, failure: null, failingSince: null };
      return update(claimed, { ...at, ...answered, cursor, leasedUntil: null });
    },

    async postpone(claimed, failure, at) {
      await update(claimed, { ...at, failure, failures: claimed.failures + 1, leasedUntil: null });
    },

    async startOver(claimed) {
      await update(claimed, { cursor: null });
    },

    async release(claimed) {
      await update(claimed, { leasedUntil: null });
    },

    async wantRead(install, now) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('feed')
          .set({ nextReadAt: now })
          .where('install', '=', install)
          .where('nextReadAt', '>', now)
          .where('failures', '=', 0)
          .execute(),
      );
    },
  };
}
