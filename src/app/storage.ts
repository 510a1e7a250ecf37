import type { Storage } from '../context.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { openSecretBox, prepareKey } from '../keys/secret-key.ts';

/** The open database, migrated, with its key checked. `start` and every command need it. */
export interface OpenStorage extends Storage {
  /** The key that the box seals with. */
  secretKey: Buffer;
  /** The migrations that were run when it was opened. */
  migrated: string[];
}

/**
 * Opens and migrates the database, and checks the key. Several processes may do so at the same time.
 *
 * @throws AppError whose message says what to do
 */
export async function openStorage(url: string, configuredKey?: Buffer): Promise<OpenStorage> {
  const database = openDatabase(url);
  try {
    const migrated = await migrate(database);
    const secretKey = await prepareKey(database, configuredKey);
    const box = await openSecretBox(database, secretKey);
    return { database, box, secretKey, migrated };
  } catch (error) {
    await database.close();
    throw error;
  }
}
