import type { Session } from './session.ts';

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

function refuseUnknown(session: Session, named: string, known: Iterable<string>): never {
  return session.misuse(`there is no install "${named}"; ${listKnown([...known])}`);
}

function listKnown(known: string[]): string {
  return known.length === 0 ? 'there are none' : `there is: ${known.join(', ')}`;
}
