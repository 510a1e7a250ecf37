import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../domain/errors.ts';
import { createSecretBox, type SecretBox } from '../lib/secret-box.ts';
import { type Database, inTransaction } from './database.ts';
import { keepSetting } from './setting-store.ts';
import { sqliteFileOf } from './sqlite-database.ts';

const keyBytes = 32;

/**
 * The key that seals what must not lie open: the configured one, or with SQLite a file beside the
 * database, readable by its owner only and made on first use.
 *
 * @throws AppError `invalid` when PostgreSQL is used without a key, or the file holds none
 */
export function loadSecretKey(databaseUrl: string, configured: Buffer | undefined): Buffer {
  if (configured !== undefined) return configured;
  if (!databaseUrl.startsWith('sqlite:')) {
    throw new AppError(
      'invalid',
      'PostgreSQL needs GANGWAY_SECRET_KEY, the same on every instance. Make one with: openssl rand -base64 32',
    );
  }
  const file = sqliteFileOf(databaseUrl);
  return file === undefined ? randomBytes(keyBytes) : loadKeyFile(`${file}.key`);
}

function loadKeyFile(file: string): Buffer {
  if (!existsSync(file)) makeKeyFile(file);
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length === keyBytes) return key;
  throw new AppError('invalid', `The key file ${file} does not hold ${keyBytes} bytes in base64`);
}

/** Of two starting processes exactly one makes the key, and neither ever reads half of it. */
function makeKeyFile(file: string): void {
  const draft = `${file}.${randomUUID()}`;
  const key = randomBytes(keyBytes).toString('base64');
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(draft, `${key}\n`, { mode: 0o600, flush: true });
    linkSync(draft, file);
  } catch (error) {
    if (!existsSync(file)) {
      throw new AppError('invalid', `The key file ${file} could not be made`, { cause: error });
    }
  }
  rmSync(draft, { force: true });
}

/**
 * The box for this database. The first key it ever sees is remembered by its fingerprint.
 *
 * @throws AppError `conflict` when the key is not the one the database was written with
 */
export async function openSecretBox(database: Database, key: Buffer): Promise<SecretBox> {
  const box = createSecretBox(key);
  await inTransaction(database, async (tx) => {
    const known = await keepSetting(tx, 'key_fingerprint', box.fingerprint);
    if (known === box.fingerprint) return;
    throw new AppError(
      'conflict',
      `This database was written with another secret key (fingerprint ${known}, this one is ${box.fingerprint}): set GANGWAY_SECRET_KEY, or the key file beside the database, back to the one it was made with`,
    );
  });
  return box;
}
