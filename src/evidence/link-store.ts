import { given } from '../db/query.ts';
import type { LinkEvidence } from '../domain/evidence.ts';
import type { Storage } from '../keys/storage.ts';

// The SQL that reads links.

/** Links without a reported removal. Their registers say whether they still exist. */
export async function listLiveLinks(ctx: Storage, install?: string): Promise<LinkEvidence[]> {
  return await ctx.database.kysely
    .selectFrom('link')
    .selectAll()
    .where('removedEventAt', 'is', null)
    .where((eb) => eb.and(given({ install })))
    .orderBy('install')
    .orderBy('linkId')
    .execute();
}
