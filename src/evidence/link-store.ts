import type { LinkEvidence } from '../domain/evidence.ts';
import type { Storage } from '../keys/storage.ts';

// The SQL that reads links.

/** Links without a reported removal. Their registers say whether they still exist. */
export function listLiveLinks(ctx: Storage): Promise<LinkEvidence[]> {
  return selectLiveLinks(ctx).execute();
}

export function liveLinksOf(ctx: Storage, install: string): Promise<LinkEvidence[]> {
  return selectLiveLinks(ctx).where('install', '=', install).execute();
}

function selectLiveLinks(ctx: Storage) {
  return ctx.database.kysely
    .selectFrom('link')
    .selectAll()
    .where('removedEventAt', 'is', null)
    .orderBy('install')
    .orderBy('linkId');
}
