import type { LoadedConfig } from '../config/load-config.ts';
import { createAliveLock } from '../db/alive-lock.ts';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { migrate } from '../db/migrate.ts';
import { openDatabase } from '../db/open-database.ts';
import { backUp } from '../db/sqlite-file.ts';
import { AppError } from '../domain/errors.ts';
import { type Progress, type RotatedKey, rotateKey } from '../keys/rotate-key-store.ts';
import { createSecretBox } from '../keys/secret-box.ts';
import { findKey, keyFileOf, loadNextKey, promoteNextKey } from '../keys/secret-key.ts';
import { systemClock } from '../lib/clock.ts';
import type { Printed } from './define-command.ts';
import { type Session, type StorageSession, withProgress } from './session.ts';
import { decidedBy, loadCommandConfig, refuseMissing, withStorage } from './with-storage.ts';

/** `gangway backup`: copies the database beside running instances. */
export async function runBackup({ file }: { file: string }, { storage }: StorageSession): Promise<Printed> {
  await backUp(storage.database, file);
  return {
    data: { file },
    text: () =>
      `The database was copied to ${file}. The key is not in it: keep a copy of the key file or of GANGWAY_SECRET_KEY elsewhere.`,
  };
}

/** `gangway migrate`: what every start does first, as a step of its own. */
export async function runMigrate(_given: object, session: Session): Promise<Printed> {
  const migrated = await withStorage(session, { mayBeFirst: true }, async ({ storage }) => storage.migrated);
  return {
    data: { migrated },
    text: () =>
      migrated.length === 0 ? 'The database is up to date.' : migrated.map((name) => `Ran ${name}.`).join('\n'),
  };
}

/** `gangway key show`: the fingerprint of the key that everything is sealed with. */
export async function runKeyShow(_given: object, session: Session): Promise<Printed> {
  const loaded = loadCommandConfig(session, []);
  const { fingerprint } = createSecretBox(findKey(loaded.config.database.url, loaded.secretKey));
  return { data: { fingerprint }, text: () => fingerprint };
}

/** `gangway key rotate` */
export async function runKeyRotate(_given: object, session: Session): Promise<Printed> {
  const { terminal } = session;
  const loaded = loadCommandConfig(session, []);
  refuseMissing(loaded, true);
  const { oldKey, newKey, promote } = findKeys(loaded);
  const database = openDatabase(loaded.config.database.url);
  const clock = createDatabaseClock(database, systemClock);
  const alive = createAliveLock(database, clock, []);
  try {
    const isAlone = alive.holdAlone();
    await migrate(database);
    await clock.correct();
    const { signal } = terminal;
    const rotated = await withProgress(terminal, (say) => {
      const onProgress = ({ column, seen }: Progress) => say(`${column}: ${seen} looked at`);
      return rotateKey({ database, oldKey, newKey, isAlone, clock, signal, onProgress });
    });
    promote();
    const { fingerprint } = createSecretBox(newKey);
    await inTransaction(database, (tx) => writeAudit(tx, decidedBy(), 'key rotate', `the key is ${fingerprint}`));
    return { data: { fingerprint, ...rotated }, text: () => toText(fingerprint, rotated) };
  } finally {
    alive.release();
    await database.close();
  }
}

interface Keys {
  oldKey: Buffer;
  newKey: Buffer;
  /** Replaces the old key in its file. */
  promote(): void;
}

function findKeys(loaded: LoadedConfig): Keys {
  const { config, secretKey, previousSecretKey } = loaded;
  const { url } = config.database;
  if (secretKey === undefined) {
    const oldKey = findKey(url, undefined);
    const file = keyFileOf(url);
    if (file === undefined) return { oldKey, newKey: oldKey, promote: () => undefined };
    return { oldKey, newKey: loadNextKey(file), promote: () => promoteNextKey(file) };
  }
  if (previousSecretKey === undefined) {
    throw new AppError(
      'invalid',
      'There is nothing to replace: set GANGWAY_SECRET_KEY to the new key and GANGWAY_SECRET_KEY_PREVIOUS to the old one, then run this again',
    );
  }
  return { oldKey: previousSecretKey, newKey: secretKey, promote: () => undefined };
}

function toText(fingerprint: string, { resealed, unopened }: RotatedKey): string {
  const done = `${resealed} sealed anew; the key is now ${fingerprint}. The one before is not needed any more.`;
  if (unopened === 0) return done;
  return `${done}\n${unopened} could not be opened with the old key and stay as they are.`;
}
