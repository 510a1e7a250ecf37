import type { Storage } from '../../keys/storage.ts';

// The SQL that tells which installs were read and heard of lately. It only reads.

/** Those of these installs that were read since, and whose feed was. */
export async function listRestingContracts(
  ctx: Storage,
  installs: readonly string[],
  readSince: string,
  heardSince: string,
): Promise<string[]> {
  if (installs.length === 0) return [];
  const rows = await ctx.database.kysely
    .selectFrom('installState')
    .innerJoin('feed', 'feed.install', 'installState.install')
    .select('installState.install')
    .distinct()
    .where('installState.install', 'in', installs)
    .where('readBeganAt', '>=', readSince)
    .where('feed.readAt', '>=', heardSince)
    .execute();
  return rows.map(({ install }) => install);
}
