import type { Storage } from '../../context.ts';
import { inTransaction, type Transaction } from '../../db/database.ts';
import type { Row } from '../../db/schema.ts';

// The only SQL about how far the feeds were read.

/** The feed of the account that an install is bound to. */
export interface Feed {
  install: string;
  /** The account. */
  grantId: string;
  /** Null before the first reading. */
  cursor: string | null;
}

/** Forgets the feed of an install that is removed. */
export async function dropFeed(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('feed').where('install', '=', install).execute();
}

/** @returns undefined before the install is bound to an account */
export async function findFeed(ctx: Storage, install: string): Promise<Feed | undefined> {
  return await ctx.database.kysely
    .selectFrom('installBinding')
    .leftJoin('feed', (join) =>
      join.onRef('feed.install', '=', 'installBinding.install').onRef('feed.grantId', '=', 'installBinding.grantId'),
    )
    .select(['installBinding.install', 'installBinding.grantId', 'cursor'])
    .where('installBinding.install', '=', install)
    .executeTakeFirst();
}

/** Moves the cursor. @returns false if another process has moved it */
export async function keepFeed(
  ctx: Storage,
  { install, grantId, cursor }: Feed,
  changes: Partial<Pick<Row<'feed'>, 'cursor' | 'readAt'>>,
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
