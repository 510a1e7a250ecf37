import type { Database } from '../../db/database.ts';

/** The SQL that tells which installs were read and heard of lately. It only reads. */
export interface SilentStore {
  /** Those of these installs that were read since, and whose feed was. */
  listResting(installs: readonly string[], readSince: string, heardSince: string): Promise<string[]>;
}

export function createSilentStore({ kysely }: Pick<Database, 'kysely'>): SilentStore {
  return {
    async listResting(installs, readSince, heardSince) {
      if (installs.length === 0) return [];
      const rows = await kysely
        .selectFrom('installState')
        .innerJoin('feed', 'feed.install', 'installState.install')
        .select('installState.install')
        .distinct()
        .where('installState.install', 'in', installs)
        .where('readBeganAt', '>=', readSince)
        .where('feed.readAt', '>=', heardSince)
        .execute();
      return rows.map(({ install }) => install);
    },
  };
}
