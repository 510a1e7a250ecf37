import { backUp } from '../db/back-up.ts';
import type { Printed } from './define-command.ts';
import type { StorageSession } from './session.ts';

/** `gangway backup`: copies the database beside running instances. */
export async function runBackup({ file }: { file: string }, { storage }: StorageSession): Promise<Printed> {
  await backUp(storage.database, file);
  return {
    data: { file },
    text: () =>
      `The database was copied to ${file}. The key is not in it: keep a copy of the key file or of GANGWAY_SECRET_KEY elsewhere.`,
  };
}
