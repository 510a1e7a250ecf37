import { inTransaction, type Transaction } from '../../db/database.ts';
import type { Row } from '../../db/schema.ts';
import type { Storage } from '../../keys/storage.ts';

// The only SQL about how far the feeds were read.

/** The feed of the account that an install is bound to. */
export interface Feed {
  install: string;
  /** The account. */
  grantId: string;
  /** Null before the first reading, as the other times. */
  cursor: string | null;
  readAt: string | null;
  failures: number;
  failingSince: string | null;
}

/** Forgets the feed of an install that is removed. */
export async function dropFeed(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('feed').where('install', '=', install).execute();
}

/** Those of these installs whose feed is due. An install is known once it was bound to an account. */
export async function installsWithFeedsDue(ctx: Storage, installs: readonly string[], now: string): Promise<string[]> {
  if (installs.length === 0) return [];
  return (await selectDue(ctx, installs, now).execute()).map(({ install }) => install);
}

/** @returns undefined if it is not due */
export async function findDueFeed(ctx: Storage, install: string, now: string): Promise<Feed | undefined> {
  const row = await selectDue(ctx, [install], now).executeTakeFirst();
  return row && { ...row, failures: row.failures ?? 0 };
}

/**
 * Stores the result of a reading. Of two that read the same page, one moves the cursor.
 *
 * @returns false if another process has moved it meanwhile
 */
export async function keepFeed(
  ctx: Storage,
  { install, grantId, cursor }: Feed,
  changes: Omit<Row<'feed'>, 'install' | 'grantId'>,
): Promise<boolean> {
  const kept = await inTransaction(ctx.database, (tx) =>
    tx
      .insertInto('feed')
      .values({ install, grantId, ...changes })
      .onConflict((conflict) =>
        conflict
          .columns(['install', 'grantId'])
          .doUpdateSet(changes)
          .where('feed.cursor', 'is not distinct from', cursor),
      )
      .returning('install')
      .executeTakeFirst(),
  );
  return kept !== undefined;
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

function selectDue(ctx: Storage, installs: readonly string[], now: string) {
  return ctx.database.kysely
    .selectFrom('installBinding')
    .leftJoin('feed', (join) =>
      join.onRef('feed.install', '=', 'installBinding.install').onRef('feed.grantId', '=', 'installBinding.grantId'),
    )
    .select(['installBinding.install', 'installBinding.grantId', 'cursor', 'readAt', 'failures', 'failingSince'])
    .where('installBinding.install', 'in', installs)
    .where((eb) => eb.or([eb('nextReadAt', 'is', null), eb('nextReadAt', '<=', now)]));
}

/** The feeds whose last reading failed, of the accounts that the installs are bound to. */
export async function listFailingFeeds(
  ctx: Storage,
): Promise<Pick<Row<'feed'>, 'install' | 'failure' | 'failingSince'>[]> {
  return await ctx.database.kysely
    .selectFrom('feed')
    .innerJoin('installBinding', (join) =>
      join.onRef('installBinding.install', '=', 'feed.install').onRef('installBinding.grantId', '=', 'feed.grantId'),
    )
    .select(['feed.install', 'failure', 'failingSince'])
    .where('failingSince', 'is not', null)
    .orderBy('feed.install')
    .execute();
}
