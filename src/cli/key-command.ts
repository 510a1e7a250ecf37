import type { LoadedConfig } from '../config/load-config.ts';
import { createAliveLock } from '../db/alive-lock.ts';
import { createDatabaseClock } from '../db/database-clock.ts';
import { AppError } from '../domain/errors.ts';
import { type KeyFile, keyFileOf } from '../keys/key-file.ts';
import { type Progress, type RotatedKey, rotateKey } from '../keys/rotate-key.ts';
import { createSecretBox } from '../keys/secret-box.ts';
import { findKeyRing } from '../keys/secret-key.ts';
import { systemClock } from '../lib/clock.ts';
import type { Printed } from './define-command.ts';
import type { Session } from './session.ts';
import type { Terminal } from './terminal.ts';
import { loadCommandConfig, noteAct, secretKeyOf, withStorage } from './with-storage.ts';

/** `gangway key`: shows the key that everything is sealed with, and replaces it. */

export async function runKeyShow(_given: object, session: Session): Promise<Printed> {
  const loaded = loadCommandConfig(session, []);
  const { key } = findKeyRing(loaded.config.database.url, secretKeyOf(loaded), loaded.previousSecretKeys);
  const { fingerprint } = createSecretBox(key);
  return { data: { fingerprint }, text: () => fingerprint };
}

export async function runKeyRotate(_given: object, session: Session): Promise<Printed> {
  const file = prepareNextKey(loadCommandConfig(session, []));
  return await withStorage(session, async ({ terminal, storage }) => {
    const { database, box } = storage;
    const clock = createDatabaseClock(database, systemClock);
    await clock.correct();
    const alive = createAliveLock({ database, clock, localTools: [] });
    await alive.hold();
    const { signal } = terminal;
    const rotating = rotateKey({ database, box, clock, signal, onProgress: createProgressLine(terminal) });
    const rotated = await rotating
      .catch((error: unknown) => {
        throw signal.aborted ? stopped(error) : error;
      })
      .finally(() => alive.release());
    file?.promoteNext();
    const { fingerprint } = box;
    await noteAct(storage, 'key rotate', `the key is ${fingerprint}`);
    return { data: { fingerprint, ...rotated }, text: () => toText(fingerprint, rotated) };
  });
}

/** @returns the file that the next key is to be promoted in; undefined where keys are configured */
function prepareNextKey(loaded: LoadedConfig): KeyFile | undefined {
  const { config, secretKey, previousSecretKeys } = loaded;
  if (secretKey.source === 'none') {
    const file = keyFileOf(config.database.url);
    findKeyRing(config.database.url, undefined);
    file?.makeNext();
    return file;
  }
  if (previousSecretKeys.length > 0) return undefined;
  throw new AppError(
    'invalid',
    'There is nothing to replace: set GANGWAY_SECRET_KEY to the new key and GANGWAY_SECRET_KEY_PREVIOUS to the old one, restart with both, then run this again',
  );
}

function stopped(cause: unknown): AppError {
  const remedy = 'both keys are needed until it is run again and done';
  return new AppError('unavailable', `Stopped before everything was sealed anew: ${remedy}`, {
    cause,
  });
}

const linePerValues = 5000;

/** Prints a line on stderr now and then, because there may be millions of values. */
function createProgressLine({ stderr }: Terminal): (progress: Progress) => void {
  return ({ column, seen }) => {
    if (seen > 0 && seen % linePerValues === 0) stderr.write(`${column}: ${seen} looked at\n`);
  };
}

function toText(fingerprint: string, { resealed, unopened }: RotatedKey): string {
  const done = `${resealed} sealed anew; the key is now ${fingerprint}. The one before is not needed any more.`;
  if (unopened === 0) return done;
  return `${done}\n${unopened} could not be opened with any key and stay as they are.`;
}
