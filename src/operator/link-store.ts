import type { Database } from '../db/database.ts';
import type { LinkEvidence } from '../domain/evidence.ts';

/** The SQL that reads links. */
export interface LinkStore {
  /** Links without a reported removal. Their registers say whether they still exist. */
  live(): Promise<LinkEvidence[]>;
  liveOf(install: string): Promise<LinkEvidence[]>;
}

export function createLinkStore({ kysely }: Database): LinkStore {
  const untold = kysely
    .selectFrom('link')
    .selectAll()
    .where('removedEventAt', 'is', null)
    .orderBy('install')
    .orderBy('linkId');
  return {
    live: () => untold.execute(),
    liveOf: (install) => untold.where('install', '=', install).execute(),
  };
}
