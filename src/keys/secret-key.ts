import { randomBytes } from 'node:crypto';
import { type Database, inTransaction } from '../db/database.ts';
import { keepSetting, readSetting } from '../db/setting-store.ts';
import { AppError } from '../domain/errors.ts';
import { keyFileOf } from './key-file.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';

/**
 * The configured key; or, with SQLite, the one in the file beside the database, made at the first use.
 *
 * @throws AppError `invalid` if PostgreSQL is used without a key, or if the file has no valid key
 */
export function loadKey(databaseUrl: string, configured: Buffer | undefined): Buffer {
  if (configured !== undefined) return configured;
  if (!databaseUrl.startsWith('sqlite:')) {
    throw new AppError(
      'invalid',
      'PostgreSQL needs GANGWAY_SECRET_KEY, the same on every instance. Make one with: openssl rand -base64 32',
    );
  }
  return keyFileOf(databaseUrl)?.load() ?? randomBytes(32);
}

/**
 * The key as it would be loaded, without making any.
 *
 * @throws AppError `invalid` if there is none
 */
export function findKey(databaseUrl: string, configured: Buffer | undefined): Buffer {
  const file = configured === undefined ? keyFileOf(databaseUrl) : undefined;
  if (file?.isThere() === false) {
    throw new AppError(
      'invalid',
      `The key file ${file.path} is not there, and GANGWAY_SECRET_KEY is not set: put the file back from its backup, or set GANGWAY_SECRET_KEY to what stood in it`,
    );
  }
  return loadKey(databaseUrl, configured);
}

/**
 * The key for an open database. A key is only made for a new database. For a database that had a key,
 * a new one would open nothing, and would hide that the old one is missing.
 *
 * @throws AppError as `findKey`, if the database had a key before
 */
export async function prepareKey({ kysely, url }: Database, configured: Buffer | undefined): Promise<Buffer> {
  const isNew = (await readSetting(kysely, 'key_fingerprint')) === undefined;
  return (isNew ? loadKey : findKey)(url, configured);
}

/**
 * The box for this database, which stores the fingerprint of its key.
 *
 * @throws AppError `conflict` if the database has another key, because its values would not open
 */
export async function openSecretBox(database: Database, key: Uint8Array): Promise<SecretBox> {
  const box = createSecretBox(key);
  await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'key_fingerprint', box.fingerprint);
  });
  await checkKey(database, box);
  return box;
}

/**
 * Whether the key of this box opens the database. Changes nothing.
 *
 * @throws AppError as `openSecretBox`
 */
export async function checkKey({ kysely }: Database, { fingerprint }: Pick<SecretBox, 'fingerprint'>): Promise<void> {
  const known = (await readSetting(kysely, 'key_fingerprint')) ?? fingerprint;
  if (known !== fingerprint) throw wrongKey(known, fingerprint);
}

export function wrongKey(known: string, fingerprint: string): AppError {
  return new AppError(
    'conflict',
    `This database was written with another secret key (fingerprint ${known}, this one is ${fingerprint}): set GANGWAY_SECRET_KEY, or the key file beside the database, back to the one it was made with; if "gangway key rotate" was interrupted, run it again`,
  );
}
