import type { Storage } from '../context.ts';
import type { Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { tokenContext } from '../db/seal-contexts.ts';
import { changeInstalls, changeRevision } from './installs-revision.ts';

// The only SQL about installs in the database.

/** An install that was connected by command, with its token decrypted. */
export interface ConnectedInstall extends Omit<Row<'connectedInstall'>, 'token' | 'projects'> {
  token: string;
  projects: readonly string[];
}

export async function listConnectedInstalls(ctx: Storage): Promise<ConnectedInstall[]> {
  return (await selectInstalls(ctx).orderBy('install').execute()).map((row) => toOpen(ctx, row));
}

export async function findConnectedInstall(ctx: Storage, install: string): Promise<ConnectedInstall | undefined> {
  const row = await selectInstalls(ctx).where('install', '=', install).executeTakeFirst();
  return row === undefined ? undefined : toOpen(ctx, row);
}

/** Inserts or replaces it. */
export async function saveConnectedInstall(
  ctx: Storage,
  { token, projects, ...install }: ConnectedInstall,
): Promise<void> {
  const row = {
    ...install,
    token: ctx.box.seal(Buffer.from(token), tokenContext(install)),
    projects: JSON.stringify(projects),
  };
  await changeInstalls(ctx.database, (tx) =>
    tx
      .insertInto('connectedInstall')
      .values(row)
      .onConflict((conflict) => conflict.column('install').doUpdateSet(row))
      .execute(),
  );
}

/** Removes it together with its webhook endpoints. */
export async function removeConnectedInstall(tx: Transaction, install: string): Promise<void> {
  await tx.deleteFrom('connectedInstall').where('install', '=', install).execute();
  await tx.deleteFrom('webhookEndpoint').where('install', '=', install).execute();
  await changeRevision(tx);
}

function selectInstalls(ctx: Storage) {
  return ctx.database.kysely.selectFrom('connectedInstall').selectAll();
}

function toOpen(ctx: Storage, { token, projects, ...row }: Row<'connectedInstall'>): ConnectedInstall {
  return {
    ...row,
    token: ctx.box.open(token, tokenContext(row)).toString('utf8'),
    projects: JSON.parse(projects) as string[],
  };
}
