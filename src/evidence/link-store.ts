import type { Database } from '../db/database.ts';
import type { LinkEvidence } from '../domain/evidence.ts';

/** The SQL of looking at links. */
export interface LinkStore {
  /** Those whose removal nobody has told; whether they are still there is for their registers to say. */
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
