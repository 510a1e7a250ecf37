import type { Storage } from '../context.ts';
import type { Row } from '../db/schema.ts';
import { endpointSecretContext } from '../db/seal-contexts.ts';
import { changeInstalls } from './installs-revision.ts';

// The only SQL about known webhook endpoints and their secrets.

/** A webhook endpoint that is known to deliver here. */
export interface StoredEndpoint {
  install: string;
  endpointId: string;
  /** Null if it was made by hand and its secret is in the configuration. */
  secret: string | null;
  storedAt: string;
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
  await changeInstalls(ctx.database, (tx) =>
    tx
      .insertInto('webhookEndpoint')
      .values(row)
      .onConflict((conflict) => conflict.columns(['install', 'endpointId']).doUpdateSet(row))
      .execute(),
  );
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
