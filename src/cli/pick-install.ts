import type { Session, StorageSession } from './session.ts';
import { loadRegistry } from './with-storage.ts';

/**
 * The install that a command is about: the one that was named, or the only one there is. Ends the
 * command as used wrongly where neither says which.
 */
export function pickInstall(
  session: Session,
  installs: ReadonlyMap<string, unknown>,
  named: string | undefined,
): string {
  const known = [...installs.keys()];
  const [only] = known;
  if (named === undefined && only !== undefined && known.length === 1) return only;
  if (named !== undefined && installs.has(named)) return named;
  if (known.length === 0) return session.misuse('there is no install yet: gangway connect <a name for it>');
  if (named === undefined) return session.misuse(`name the install; ${listKnown(known)}`);
  return refuseUnknown(session, named, known);
}

/** The install that was named, or all. */
export function pickInstalls(
  session: Session,
  installs: ReadonlyMap<string, unknown>,
  named: string | undefined,
): string[] {
  return named === undefined ? [...installs.keys()] : [pickInstall(session, installs, named)];
}

/**
 * For a list that came out empty: ends the command as used wrongly where the install that it was asked
 * for does not exist. What is stored of an install that is no longer configured can still be listed.
 */
export async function refuseUnknownInstall(session: StorageSession, named: string | undefined): Promise<void> {
  if (named === undefined) return;
  const { installs } = await loadRegistry(session);
  if (!installs.has(named)) refuseUnknown(session, named, installs.keys());
}

function refuseUnknown(session: Session, named: string, known: Iterable<string>): never {
  return session.misuse(`there is no install "${named}"; ${listKnown([...known])}`);
}

function listKnown(known: string[]): string {
  return known.length === 0 ? 'there are none' : `there is: ${known.join(', ')}`;
}
