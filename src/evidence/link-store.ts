import type { Database } from '../db/database.ts';
import type { LinkEvidence } from '../domain/evidence.ts';

/** The SQL that reads links. */
export interface LinkStore {
  /** Links without a reported removal. Their registers say whether they still exist. */
  live(): Promise<LinkEvidence[]>;
  liveOf(install: string): Promise<LinkEvidence[]>;
}

export function createLinkStore({ kysely }: Database): LinkStore {
  const unreported = kysely
    .selectFrom('link')
    .selectAll()
    .where('removedEventAt', 'is', null)
    .orderBy('install')
    .orderBy('linkId');
  return {
    live: () => unreported.execute(),
    liveOf: (install) => unreported.where('install', '=', install).execute(),
  };
}
