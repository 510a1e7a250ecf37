import { type Database, inTransaction } from '../db/database.ts';
import { endpointSecretContext } from '../db/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { changeRevision } from './installs-revision.ts';

/** A webhook endpoint that is known to deliver here. */
export interface StoredEndpoint {
  install: string;
  endpointId: string;
  /** Null if it was made by hand and its secret is in the configuration. */
  secret: string | null;
  storedAt: string;
}

/** The only SQL about known webhook endpoints and their secrets. */
export interface EndpointStore {
  list(): Promise<StoredEndpoint[]>;
  /** In the order in which they were stored. */
  listOf(install: string): Promise<StoredEndpoint[]>;
  /** Durable when it resolves, because the marketplace shows a secret only once. */
  save(endpoint: StoredEndpoint): Promise<void>;
  remove(install: string, endpointId: string): Promise<void>;
}

export function createEndpointStore(database: Database, box: SecretBox): EndpointStore {
  const all = database.kysely
    .selectFrom('webhookEndpoint')
    .selectAll()
    .orderBy('install')
    .orderBy('storedAt')
    .orderBy('endpointId');

  async function open(rows: typeof all): Promise<StoredEndpoint[]> {
    return (await rows.execute()).map(({ secret, ...row }) => ({
      ...row,
      secret: secret === null ? null : box.open(secret, endpointSecretContext(row)).toString('utf8'),
    }));
  }

  return {
    list: () => open(all),
    listOf: (install) => open(all.where('install', '=', install)),

    async save({ secret, ...endpoint }) {
      const context = endpointSecretContext(endpoint);
      const sealed = secret === null ? null : box.seal(Buffer.from(secret), context);
      const row = { ...endpoint, secret: sealed };
      await inTransaction(
        database,
        async (tx) => {
          await tx
            .insertInto('webhookEndpoint')
            .values(row)
            .onConflict((conflict) => conflict.columns(['install', 'endpointId']).doUpdateSet(row))
            .execute();
          await changeRevision(tx);
        },
        { isDurable: true },
      );
    },

    async remove(install, endpointId) {
      await inTransaction(database, async (tx) => {
        await tx
          .deleteFrom('webhookEndpoint')
          .where('install', '=', install)
          .where('endpointId', '=', endpointId)
          .execute();
        await changeRevision(tx);
      });
    },
  };
}
