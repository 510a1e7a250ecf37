import type { Config } from '../config/config-schema.ts';
import type { Database } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { createInboxStore, type InboxStore } from '../inbox/inbox-store.ts';
import { createInstallRegistry, type InstallRegistry } from '../installs/install-registry.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { openSecretBox, prepareKey } from '../keys/secret-key.ts';
import { createMembershipStore, type MembershipStore } from '../memberships/membership-store.ts';

/** The open database, migrated, with its key checked. `start` and every command need it. */
export interface Storage {
  database: Database;
  box: SecretBox;
  /** The key that the box seals with. */
  secretKey: Buffer;
  inbox: InboxStore;
  memberships: MembershipStore;
  /** The migrations that were run when it was opened. */
  migrated: string[];
}

/**
 * Opens and migrates the database, and checks the key. Several processes may do so at the same time.
 *
 * @throws AppError whose message says what to do
 */
export async function openStorage(url: string, configuredKey?: Buffer): Promise<Storage> {
  const database = openDatabase(url);
  try {
    const migrated = await migrate(database);
    const secretKey = await prepareKey(database, configuredKey);
    const box = await openSecretBox(database, secretKey);
    const inbox = createInboxStore(database, box);
    const memberships = createMembershipStore(database);
    return { database, box, secretKey, inbox, memberships, migrated };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The installs of the configuration and of the database. It is empty until it is loaded. */
export function openRegistry({
  config: { installs: configured, marketplace },
  storage: { database, box },
}: {
  config: Config;
  storage: Pick<Storage, 'database' | 'box'>;
}): InstallRegistry {
  return createInstallRegistry({ configured, marketplace, database, box });
}
