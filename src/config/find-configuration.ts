import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from './document.ts';

export type ConfigurationSource = { kind: 'file'; path: string } | { kind: 'environment' } | { kind: 'none' };

export interface ConfigurationQuery {
  /** What `--config` said. */
  path?: string | undefined;
  /** `process.env` unless told otherwise. */
  env?: Environment;
  /** The working directory unless told otherwise. */
  cwd?: string;
  /** Whether a tool will be called; where none is, its secrets need not be there. */
  callsTools?: boolean;
}

export const configFileName = 'gangway.config.json';

/**
 * Where the configuration comes from: `--config`, else `GANGWAY_CONFIG`, else `gangway.config.json`
 * in the working directory, else the variables alone. `none` only where nobody has begun to
 * configure anything: with any `GANGWAY_*` variable, or `NODE_ENV=production`, it is
 * `environment`, and `loadConfig` says what is missing. A file that is named need not exist here.
 */
export function findConfiguration({
  path: option,
  env = process.env,
  cwd = process.cwd(),
}: ConfigurationQuery = {}): ConfigurationSource {
  const named = option || env['GANGWAY_CONFIG'];
  if (named) return { kind: 'file', path: path.resolve(cwd, named) };
  const usual = path.join(cwd, configFileName);
  if (existsSync(usual)) return { kind: 'file', path: usual };
  const isMeant = env['NODE_ENV'] === 'production' || Object.keys(env).some(isOurs);
  return { kind: isMeant ? 'environment' : 'none' };
}

function isOurs(name: string): boolean {
  return name.startsWith('GANGWAY_');
}
