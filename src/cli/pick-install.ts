import type { Command } from 'commander';
import type { Storage } from '../app/storage.ts';
import type { Config } from '../config/config-schema.ts';
import { loadRegistry } from './command-context.ts';

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
  if (known.length === 0) command.error(`error: there is no install yet: gangway connect <a name for it>`);
  if (named === undefined) command.error(`error: name the install; ${sayKnown(known)}`);
  return refuseUnknown(command, 'install', named, known);
}

/**
 * For a filter under which nothing was found: ends the command as used wrongly where there is no
 * such install either. What is stored of one that is no longer there can still be listed.
 */
export async function refuseUnknownInstall(
  command: Command,
  storage: Storage,
  config: Config,
  named: string | undefined,
): Promise<void> {
  if (named === undefined) return;
  const { installs } = await loadRegistry({ config }, storage);
  if (!installs.has(named)) refuseUnknown(command, 'install', named, installs.keys());
}

/** The same for a tool. */
export function refuseUnknownTool(command: Command, { tools }: Pick<Config, 'tools'>, named: string | undefined): void {
  if (named !== undefined && !tools.has(named)) refuseUnknown(command, 'tool', named, tools.keys());
}

function refuseUnknown(command: Command, kind: 'install' | 'tool', named: string, known: Iterable<string>): never {
  command.error(`error: there is no ${kind} "${named}"; ${sayKnown([...known])}`);
}

function sayKnown(known: string[]): string {
  return known.length === 0 ? 'there are none' : `there is: ${known.join(', ')}`;
}
