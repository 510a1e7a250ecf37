import type { Storage } from '../keys/storage.ts';

// The SQL that reads which grants stand behind which installs.

/** The grants that an install is known to have had. */
export async function grantIdsOf(ctx: Storage, install: string): Promise<string[]> {
  const rows = [
    ...(await selectRead(ctx).where('install', '=', install).execute()),
    ...(await selectConnected(ctx).where('install', '=', install).execute()),
  ];
  return [...new Set(rows.map(({ grantId }) => grantId))];
}

/** The installs that are known to have had a grant. */
export async function holdersOfGrant(ctx: Storage, grantId: string): Promise<string[]> {
  const rows = [
    ...(await selectRead(ctx).where('grantId', '=', grantId).execute()),
    ...(await selectConnected(ctx).where('grantId', '=', grantId).execute()),
  ];
  return [...new Set(rows.map(({ install }) => install))].sort();
}

function selectRead(ctx: Storage) {
  return ctx.database.kysely.selectFrom('installGrant').select(['install', 'grantId']);
}

function selectConnected(ctx: Storage) {
  return ctx.database.kysely.selectFrom('connectedInstall').select(['install', 'grantId']);
}
