import { randomBytes, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { type Database, inTransaction } from '../db/database.ts';
import { keepSetting, readSetting } from '../db/setting-store.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { AppError } from '../domain/errors.ts';
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

const keyBytes = 32;

/**
 * The files beside a SQLite database with its key. Only their owner may read them. During a rotation
 * there are two: the next key is stored before anything is sealed with it, and replaces the old one
 * after everything is.
 */
interface KeyFile {
  path: string;
  isThere(): boolean;
  /** Loads the key, and makes it if there is none yet. */
  load(): Buffer;
  /** Loads the next key, and makes it if there is none yet. */
  loadNext(): Buffer;
  /** Replaces the key by the next one. The old key is deleted. */
  promoteNext(): void;
}

/** @returns undefined if the database has no file */
export function keyFileOf(databaseUrl: string): KeyFile | undefined {
  const database = sqliteFileOf(databaseUrl);
  if (database === undefined) return undefined;
  const file = `${database}.key`;
  const next = `${file}.next`;
  return {
    path: file,
    isThere: () => existsSync(file),
    load() {
      if (!existsSync(file)) makeKey(file);
      return readKey(file);
    },
    loadNext() {
      if (!existsSync(next)) makeKey(next);
      return readKey(next);
    },
    promoteNext() {
      renameSync(next, file);
      syncFolderOf(file);
    },
  };
}

function readKey(file: string): Buffer {
  refuseReadableByOthers(file);
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length === keyBytes) return key;
  throw new AppError('invalid', `The key file ${file} does not hold ${keyBytes} bytes in base64`);
}

/** A user who can read the key can decrypt everything. Not checked on systems without such file modes. */
function refuseReadableByOthers(file: string): void {
  const mode = statSync(file).mode & 0o777;
  if (process.platform === 'win32' || (mode & 0o077) === 0) return;
  const says = `The key file ${file} is open to others than its owner (mode ${mode.toString(8)})`;
  throw new AppError('invalid', `${says}: chmod 600 ${file}, or set GANGWAY_SECRET_KEY instead`);
}

/** If two processes start, exactly one makes the key, and neither reads half of it. */
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

/** A new file name survives a power cut only after its folder is synced. */
function syncFolderOf(file: string): void {
  const folder = openSync(path.dirname(file), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
