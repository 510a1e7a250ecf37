import type { Printed } from './define-command.ts';
import type { Session } from './session.ts';
import { withStorage } from './with-storage.ts';

/** `gangway migrate`: every start does this first. As a command it can be a step of its own. */
export async function runMigrate(_given: object, session: Session): Promise<Printed> {
  const migrated = await withStorage(session, { mayBeFirst: true }, async ({ storage }) => storage.migrated);
  return {
    data: { migrated },
    text: () =>
      migrated.length === 0 ? 'The database is up to date.' : migrated.map((name) => `Ran ${name}.`).join('\n'),
  };
}
