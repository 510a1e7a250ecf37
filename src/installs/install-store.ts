import { randomUUID } from 'node:crypto';
import type { Storage } from '../context.ts';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { upsert } from '../db/query.ts';
import type { Row } from '../db/schema.ts';
import { endpointSecretContext, tokenContext } from '../db/seal-contexts.ts';
import { readSetting, writeSetting } from '../db/setting-store.ts';

// The only SQL about installs in the database, and about known webhook endpoints.

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
  await changeInstalls(ctx.database, (tx) => upsert(tx, 'connectedInstall', ['install'], [row]));
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

/** Changes with every change of stored installs, so that every instance notices it. */
export async function readRevision(tx: Transaction): Promise<string> {
  return (await readSetting(tx, 'installs_revision')) ?? '';
}

async function changeRevision(tx: Transaction): Promise<void> {
  await writeSetting(tx, 'installs_revision', randomUUID());
}

/** Changes stored installs. Durable when it resolves. */
async function changeInstalls(database: Database, change: (tx: Transaction) => Promise<unknown>): Promise<void> {
  const work = async (tx: Transaction) => {
    await change(tx);
    await changeRevision(tx);
  };
  await inTransaction(database, work, { isDurable: true });
}

/** A webhook endpoint that is known to deliver here. */
export interface StoredEndpoint extends Omit<Row<'webhookEndpoint'>, 'secret'> {
  secret: string | null;
}

export async function listEndpoints(ctx: Storage): Promise<StoredEndpoint[]> {
  return openSecrets(ctx, await selectEndpoints(ctx).execute());
}

/** In the order in which they were stored. */
export async function endpointsOf(ctx: Storage, install: string): Promise<StoredEndpoint[]> {
  return openSecrets(ctx, await selectEndpoints(ctx).where('install', '=', install).execute());
}

/** Durable when it resolves, because the marketplace shows a secret only once. */
export async function saveEndpoint(ctx: Storage, { secret, ...endpoint }: StoredEndpoint): Promise<void> {
  const context = endpointSecretContext(endpoint);
  const sealed = secret === null ? null : ctx.box.seal(Buffer.from(secret), context);
  const row = { ...endpoint, secret: sealed };
  await changeInstalls(ctx.database, (tx) => upsert(tx, 'webhookEndpoint', ['install', 'endpointId'], [row]));
}

export async function removeEndpoint(ctx: Storage, install: string, endpointId: string): Promise<void> {
  await changeInstalls(ctx.database, (tx) =>
    tx.deleteFrom('webhookEndpoint').where('install', '=', install).where('endpointId', '=', endpointId).execute(),
  );
}

function selectEndpoints(ctx: Storage) {
  return ctx.database.kysely
    .selectFrom('webhookEndpoint')
    .selectAll()
    .orderBy('install')
    .orderBy('storedAt')
    .orderBy('endpointId');
}

function openSecrets(ctx: Storage, rows: readonly Row<'webhookEndpoint'>[]): StoredEndpoint[] {
  return rows.map(({ secret, ...row }) => ({
    ...row,
    secret: secret === null ? null : ctx.box.open(secret, endpointSecretContext(row)).toString('utf8'),
  }));
}
