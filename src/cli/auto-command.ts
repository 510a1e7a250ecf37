import { findConfiguration } from '../config/find-configuration.ts';
import { AppError } from '../domain/errors.ts';
import type { Session } from './session.ts';
import { toQuery } from './with-storage.ts';

export async function startOrTry({ exit, json }: { exit: boolean; json: boolean }, session: Session) {
  const found = findConfiguration(toQuery(session));
  if (found.kind === 'none') {
    const { tryOut } = await import('./try-command.ts');
    return await tryOut({ exit, json }, session);
  }
  if (exit) throw new AppError('invalid', '--exit is for `try`, and there is a configuration');
  const { start } = await import('./start-command.ts');
  return await start({ json, acceptOrphans: false, restored: false }, session);
}
