import { backUp } from '../db/back-up.ts';
import type { Printed } from './define-command.ts';
import type { Session, StorageSession } from './session.ts';
import { withStorage } from './with-storage.ts';

/** `gangway backup`: copies the database beside running instances. */
export async function runBackup({ file }: { file: string }, { storage }: StorageSession): Promise<Printed> {
  await backUp(storage.database, file);
  return {
    data: { file },
    text: () =>
      `The database was copied to ${file}. The key is not in it: keep a copy of the key file or of GANGWAY_SECRET_KEY elsewhere.`,
  };
}

/** `gangway migrate`: every start does this first. As a command it can be a step of its own. */
export async function runMigrate(_given: object, session: Session): Promise<Printed> {
  const migrated = await withStorage(session, { mayBeFirst: true }, async ({ storage }) => storage.migrated);
  return {
    data: { migrated },
    text: () =>
      migrated.length === 0 ? 'The database is up to date.' : migrated.map((name) => `Ran ${name}.`).join('\n'),
  };
}
