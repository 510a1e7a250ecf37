import type { Command } from 'commander';

/**
 * The install that a command is about: the one that was named, or the only one there is. Ends the
 * command as used wrongly where neither says which.
 */
export function pickInstall(
  command: Command,
  installs: ReadonlyMap<string, unknown>,
  named: string | undefined,
): string {
  const known = [...installs.keys()];
  const [only] = known;
  if (named === undefined && only !== undefined && known.length === 1) return only;
  if (named !== undefined && installs.has(named)) return named;
  const there = known.length === 0 ? 'there are none' : `there is: ${known.join(', ')}`;
  return command.error(
    named === undefined
      ? `error: name the install; ${there}`
      : `error: there is no install "${named}"; ${there}`,
  );
}
