import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { Row } from '../db/schema.ts';
import { tokenContext } from '../db/seal-contexts.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { changeRevision } from './installs-revision.ts';

/** An install that was connected by command, with its token decrypted. */
export interface ConnectedInstall extends Omit<Row<'connectedInstall'>, 'token' | 'projects'> {
  token: string;
  projects: readonly string[];
}

/** The only SQL about installs in the database. */
export interface InstallStore {
  list(): Promise<ConnectedInstall[]>;
  find(install: string): Promise<ConnectedInstall | undefined>;
  /** Inserts or replaces it. */
  save(install: ConnectedInstall): Promise<void>;
  /** Removes it together with its webhook endpoints. */
  remove(tx: Transaction, install: string): Promise<void>;
}

export function createInstallStore(database: Database, box: SecretBox): InstallStore {
  const { kysely } = database;
  const all = kysely.selectFrom('connectedInstall').selectAll();
  const toOpen = ({ token, projects, ...row }: Row<'connectedInstall'>): ConnectedInstall => ({
    ...row,
    token: box.open(token, tokenContext(row)).toString('utf8'),
    projects: JSON.parse(projects) as string[],
  });
  return {
    async list() {
      return (await all.orderBy('install').execute()).map(toOpen);
    },

    async find(install) {
      const row = await all.where('install', '=', install).executeTakeFirst();
      return row === undefined ? undefined : toOpen(row);
    },

    async save({ token, projects, ...install }) {
      const row = {
        ...install,
        token: box.seal(Buffer.from(token), tokenContext(install)),
        projects: JSON.stringify(projects),
      };
      await inTransaction(
        database,
        async (tx) => {
          await tx
            .insertInto('connectedInstall')
            .values(row)
            .onConflict((conflict) => conflict.column('install').doUpdateSet(row))
            .execute();
          await changeRevision(tx);
        },
        { isDurable: true },
      );
    },

    async remove(tx, install) {
      await tx.deleteFrom('connectedInstall').where('install', '=', install).execute();
      await tx.deleteFrom('webhookEndpoint').where('install', '=', install).execute();
      await changeRevision(tx);
    },
  };
}
