import { randomBytes } from 'node:crypto';
import type { Storage } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';

const box = createSecretBox(randomBytes(32));

/** A database with a key that all of a test file share. */
export function storageOf(database: Database): Storage {
  return { database, box };
}
