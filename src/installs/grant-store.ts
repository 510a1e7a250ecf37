import type { Storage } from '../context.ts';

// The SQL that reads which grants stand behind which installs.

/** The grants that an install is known to have had. */
export async function grantIdsOf(ctx: Storage, install: string): Promise<string[]> {
  const rows = await selectKnown(ctx).where('install', '=', install).execute();
  return rows.map(({ grantId }) => grantId);
}

/** The installs that are known to have had a grant. */
export async function holdersOfGrant(ctx: Storage, grantId: string): Promise<string[]> {
  const rows = await selectKnown(ctx).where('grantId', '=', grantId).execute();
  return rows.map(({ install }) => install).sort();
}

function selectKnown({ database: { kysely } }: Storage) {
  const read = kysely.selectFrom('installGrant').select(['install', 'grantId']);
  const connected = kysely.selectFrom('connectedInstall').select(['install', 'grantId']);
  return kysely.selectFrom(read.union(connected).as('known')).select(['install', 'grantId']);
}
