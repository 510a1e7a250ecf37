import type { Session } from './session.ts';

/** The install that was named, or the only one there is. Ends the command as used wrongly where neither says which. */
export function pickInstall(session: Session, known: readonly string[], named?: string): string {
  const [only] = known;
  if (only === undefined) return session.misuse('there is no install yet: gangway connect <name>');
  if (named === undefined && known.length === 1) return only;
  if (named === undefined) return session.misuse(`name the install: ${known.join(', ')}`);
  if (known.includes(named)) return named;
  return session.misuse(`there is no install "${named}"; there is: ${known.join(', ')}`);
}
