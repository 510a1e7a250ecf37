import { randomBytes } from 'node:crypto';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { keepSetting, listKeysInUse, readSetting } from '../db/setting-store.ts';
import { AppError } from '../domain/errors.ts';
import { keyFileOf } from './key-file.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';

/** The key that seals, and the other keys with which values may still be sealed. */
export interface KeyRing {
  key: Buffer;
  previous: readonly Buffer[];
}

/**
 * The configured keys; or, with SQLite, those in the files beside the database, made at the first use.
 *
 * @throws AppError `invalid` if PostgreSQL is used without a key, or if the file has no valid key
 */
export function loadKeyRing(
  databaseUrl: string,
  configured: Buffer | undefined,
  previous: readonly Buffer[] = [],
): KeyRing {
  if (configured !== undefined) return { key: configured, previous };
  if (!databaseUrl.startsWith('sqlite:')) {
    throw new AppError(
      'invalid',
      'PostgreSQL needs GANGWAY_SECRET_KEY, the same on every instance. Make one with: openssl rand -base64 32',
    );
  }
  const file = keyFileOf(databaseUrl);
  if (file === undefined) return { key: randomBytes(32), previous };
  // The next key first: if it replaces the other in between, both are the same key.
  const next = file.loadNext();
  const key = file.load();
  return next === undefined ? { key, previous } : { key: next, previous: [key, ...previous] };
}

/**
 * The keys as they would be loaded, without making any.
 *
 * @throws AppError `invalid` if there is none
 */
export function findKeyRing(
  databaseUrl: string,
  configured: Buffer | undefined,
  previous: readonly Buffer[] = [],
): KeyRing {
  const file = configured === undefined ? keyFileOf(databaseUrl) : undefined;
  if (file?.isThere() === false) {
    throw new AppError(
      'invalid',
      `The key file ${file.path} is not there, and GANGWAY_SECRET_KEY is not set: put the file back from its backup, or set GANGWAY_SECRET_KEY to what stood in it`,
    );
  }
  return loadKeyRing(databaseUrl, configured, previous);
}

/**
 * The keys for an open database. A key is only made for a new database. For a database that had a key,
 * a new one would open nothing, and would hide that the old one is missing.
 *
 * @throws AppError as `findKeyRing`, if the database had a key before
 */
export async function prepareKeyRing(
  { kysely, url }: Database,
  configured: Buffer | undefined,
  previous: readonly Buffer[],
): Promise<KeyRing> {
  const isNew = (await readSetting(kysely, 'key_fingerprint')) === undefined;
  return (isNew ? loadKeyRing : findKeyRing)(url, configured, previous);
}

/**
 * The box for this database. The database stores the fingerprints of the keys with which something may
 * be sealed: the first key, until it is replaced, and the keys that are about to replace it.
 *
 * @throws AppError `conflict` if one of them is missing, because its values would not open
 */
export async function openSecretBox(database: Database, ring: KeyRing): Promise<SecretBox> {
  const box = createSecretBox(ring.key, ring.previous);
  await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'key_fingerprint', box.fingerprint);
    const known = await refuseForeign(tx, box);
    // Stored before anything is sealed with it, so that no instance starts without this key from now on.
    if (known !== box.fingerprint) await keepSetting(tx, `key_in_use:${box.fingerprint}`, 'yes');
  });
  return box;
}

/**
 * Whether these keys open the database. Changes nothing.
 *
 * @returns the fingerprint of the key that would seal
 * @throws AppError as `openSecretBox`
 */
export async function checkKeyRing(database: Database, ring: KeyRing): Promise<string> {
  const box = createSecretBox(ring.key, ring.previous);
  await refuseForeign(database.kysely, box);
  return box.fingerprint;
}

/** @returns the fingerprint in the database; if there is none, the one of the box */
async function refuseForeign(tx: Transaction, box: SecretBox): Promise<string> {
  const known = (await readSetting(tx, 'key_fingerprint')) ?? box.fingerprint;
  if (!box.fingerprints.includes(known)) {
    throw new AppError(
      'conflict',
      `This database was written with another secret key (fingerprint ${known}, this one is ${box.fingerprint}): set GANGWAY_SECRET_KEY, or the key file beside the database, back to the one it was made with, or name that one in GANGWAY_SECRET_KEY_PREVIOUS`,
    );
  }
  const missing = (await listKeysInUse(tx)).find((one) => !box.fingerprints.includes(one));
  if (missing !== undefined) {
    throw new AppError(
      'conflict',
      `The secret key of this database is being replaced, and something is sealed with the new one (fingerprint ${missing}) already: set GANGWAY_SECRET_KEY to it and name the old one in GANGWAY_SECRET_KEY_PREVIOUS, until "gangway key rotate" is done`,
    );
  }
  return known;
}
