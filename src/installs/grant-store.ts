import type { Database } from '../db/database.ts';

/** The SQL that reads which grants stand behind which installs. */
export interface GrantStore {
  /** The grants that an install is known to have had. */
  of(install: string): Promise<string[]>;
  /** The installs that are known to have had a grant. */
  holdersOf(grantId: string): Promise<string[]>;
}

export function createGrantStore({ kysely }: Database): GrantStore {
  const read = kysely.selectFrom('installGrant').select(['install', 'grantId']);
  const connected = kysely.selectFrom('connectedInstall').select(['install', 'grantId']);
  return {
    async of(install) {
      const rows = [
        ...(await read.where('install', '=', install).execute()),
        ...(await connected.where('install', '=', install).execute()),
      ];
      return [...new Set(rows.map(({ grantId }) => grantId))];
    },

    async holdersOf(grantId) {
      const rows = [
        ...(await read.where('grantId', '=', grantId).execute()),
        ...(await connected.where('grantId', '=', grantId).execute()),
      ];
      return [...new Set(rows.map(({ install }) => install))].sort();
    },
  };
}
