import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Database, inTransaction } from '../db/database.ts';
import { keepSetting, readSetting } from '../db/setting-store.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { syncFolderOf } from '../db/sqlite-file.ts';
import { AppError } from '../domain/errors.ts';
import { createSecretBox, type SecretBox } from './secret-box.ts';

/**
 * The configured key. With SQLite, by default the key in the file beside the database, which is made at the first use.
 *
 * @throws AppError `invalid` for PostgreSQL without a key, and for a file without a valid key
 */
export function loadKey(databaseUrl: string, configured: Buffer | undefined): Buffer {
  if (configured !== undefined) return configured;
  if (!databaseUrl.startsWith('sqlite:')) {
    throw new AppError(
      'invalid',
      'PostgreSQL needs GANGWAY_SECRET_KEY, the same on every instance. Make one with: openssl rand -base64 32',
    );
  }
  const file = keyFileOf(databaseUrl);
  return file === undefined ? randomBytes(keyBytes) : loadKeyFile(file);
}

/**
 * The same key. This makes none.
 *
 * @throws AppError `invalid` if there is no key
 */
export function findKey(databaseUrl: string, configured: Buffer | undefined): Buffer {
  const file = configured === undefined ? keyFileOf(databaseUrl) : undefined;
  if (file !== undefined && !existsSync(file)) {
    throw new AppError(
      'invalid',
      `The key file ${file} is missing, and GANGWAY_SECRET_KEY is not set: restore the file from its backup, or set GANGWAY_SECRET_KEY to its content`,
    );
  }
  return loadKey(databaseUrl, configured);
}

/**
 * The key for an open database. Only a new database gets a new key. In another one, a new key would open nothing and hide
 * that the old key is missing.
 *
 * @throws AppError as `findKey`, if the database already had a key
 */
export async function prepareKey({ kysely, url }: Database, configured: Buffer | undefined): Promise<Buffer> {
  const isNew = (await readSetting(kysely, 'key_fingerprint')) === undefined;
  return (isNew ? loadKey : findKey)(url, configured);
}

/**
 * The box for this database, which stores the fingerprint of its key.
 *
 * @throws AppError `conflict` if the database was written with another key
 */
export async function openSecretBox(database: Database, key: Uint8Array): Promise<SecretBox> {
  const box = createSecretBox(key);
  await inTransaction(database, async (tx) => {
    await keepSetting(tx, 'key_fingerprint', box.fingerprint);
  });
  await checkKey(database, box);
  return box;
}

/** Checks the key of this box and changes nothing. @throws AppError as `openSecretBox` */
export async function checkKey({ kysely }: Database, { fingerprint }: Pick<SecretBox, 'fingerprint'>): Promise<void> {
  const known = (await readSetting(kysely, 'key_fingerprint')) ?? fingerprint;
  if (known !== fingerprint) throw wrongKey(known, fingerprint);
}

export function wrongKey(known: string, fingerprint: string): AppError {
  return new AppError(
    'conflict',
    `This database was written with another secret key (fingerprint ${known}, this one is ${fingerprint}): set GANGWAY_SECRET_KEY, or the key file beside the database, back to the key that it was written with; if "gangway key rotate" was interrupted, run it again`,
  );
}

const keyBytes = 32;

/** The file beside a SQLite database with its key, which only its owner may read; undefined without such a file. */
export function keyFileOf(databaseUrl: string): string | undefined {
  const database = sqliteFileOf(databaseUrl);
  return database && `${database}.key`;
}

function loadKeyFile(file: string): Buffer {
  if (!existsSync(file)) makeKey(file);
  return readKey(file);
}

/**
 * The key that replaces the one in the file during a rotation. It has a file of its own: it is stored before anything is
 * sealed with it, and replaces the old key after everything is.
 */
export function loadNextKey(file: string): Buffer {
  return loadKeyFile(`${file}.next`);
}

/** Replaces the key in the file with the next one. The old key is deleted. */
export function promoteNextKey(file: string): void {
  renameSync(`${file}.next`, file);
  syncFolderOf(file);
}

function readKey(file: string): Buffer {
  refuseReadableByOthers(file);
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length === keyBytes) return key;
  throw new AppError('invalid', `The key file ${file} does not hold ${keyBytes} bytes in base64`);
}

/** Whoever reads the key can decrypt everything. Windows has no such file modes. */
function refuseReadableByOthers(file: string): void {
  const mode = statSync(file).mode & 0o777;
  if (process.platform === 'win32' || (mode & 0o077) === 0) return;
  const says = `Others than its owner may read or write the key file ${file} (mode ${mode.toString(8)})`;
  throw new AppError('invalid', `${says}: chmod 600 ${file}, or set GANGWAY_SECRET_KEY instead`);
}

/** Of two processes that start, exactly one makes the key, and neither reads half of it. */
function makeKey(file: string): void {
  const draft = `${file}.${randomUUID()}`;
  const key = randomBytes(keyBytes).toString('base64');
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${key}\n`, { mode: 0o600, flush: true });
    linkSync(draft, file);
    syncFolderOf(file);
  } catch (error) {
    if (!existsSync(file)) {
      throw new AppError('invalid', `The key file ${file} could not be made`, { cause: error });
    }
  }
  rmSync(draft, { force: true });
}
