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
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { AppError } from '../domain/errors.ts';

const keyBytes = 32;

/**
 * The files beside a SQLite database with its key. Only their owner may read them. During a rotation
 * there are two: the next key is stored before anything is sealed with it, and replaces the old one
 * after everything is.
 */
export interface KeyFile {
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
