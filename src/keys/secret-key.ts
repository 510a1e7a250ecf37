import { randomBytes } from 'node:crypto';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import { keepSetting, listKeysInUse, readSetting } from '../db/setting-store.ts';
import { AppError } from '../domain/errors.ts';
import { keyFileOf } from './key-file.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';

/** The key that seals what must not lie open, and others that it may still be sealed with. */
export interface KeyRing {
  key: Buffer;
  previous: readonly Buffer[];
}

/**
 * The configured keys, or with SQLite those in the files beside the database, made on first use.
 *
 * @throws AppError `invalid` when PostgreSQL is used without a key, or the file holds none
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
  // The next one first: it may take the place of the other in between, and then both are it.
  const next = file.loadNext();
  const key = file.load();
  return next === undefined ? { key, previous } : { key: next, previous: [key, ...previous] };
}

/**
 * The keys as they would be loaded, without making any.
 *
 * @throws AppError `invalid` where there is none
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
 * The keys for a database that is open. One is made for a new database alone: where one was in use
 * before, another would open nothing, and hide which one is missing.
 *
 * @throws AppError as `findKeyRing` does, where the database had a key before
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
 * The box for this database. The database remembers by fingerprints which keys something in it may
 * be sealed with: the first that it ever saw, until that is replaced, and those on the way to
 * replace it.
 *
 * @throws AppError `conflict` when one of them is missing: what it has sealed would not open
 */
export async function openSecretBox(database: Database, ring: KeyRing): Promise<SecretBox> {
  const box = createSecretBox(ring.key, ring.previous);
  await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'key_fingerprint', box.fingerprint);
    const known = await refuseForeign(tx, box);
    // Noted before anything is sealed with it, so that nobody starts without it from now on.
    if (known !== box.fingerprint) await keepSetting(tx, `key_in_use:${box.fingerprint}`, 'yes');
  });
  return box;
}

/**
 * Whether these keys open the database. Changes nothing.
 *
 * @returns the fingerprint of the key that it would be sealed with
 * @throws AppError as `openSecretBox` does
 */
export async function checkKeyRing(database: Database, ring: KeyRing): Promise<string> {
  const box = createSecretBox(ring.key, ring.previous);
  await refuseForeign(database.kysely, box);
  return box.fingerprint;
}

/** @returns the fingerprint that the database knows; that of the box where it knows none */
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
