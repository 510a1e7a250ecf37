import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Environment } from './document.ts';

export type ConfigurationSource = { kind: 'file'; path: string } | { kind: 'environment' } | { kind: 'none' };

export interface ConfigurationQuery {
  /** The value of `--config`. */
  path?: string | undefined;
  /** `process.env` by default. */
  env?: Environment;
  /** The working directory by default. */
  cwd?: string;
  /**
   * The parts whose secrets are used, such as `tools` or `installs.acme`; by default all. A missing secret of another part is
   * no fault. Those of the database are always used.
   */
  uses?: readonly string[];
}

export const configFileName = 'gangway.config.json';

/**
 * Where the configuration comes from: `--config`, else `GANGWAY_CONFIG`, else `gangway.config.json` in the working directory,
 * else the variables alone. With any `GANGWAY_*` variable, or `NODE_ENV=production`, it is `environment`, and `loadConfig` says
 * what is missing; without any it is `none`. A named file need not exist.
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
  const isMeant = env['NODE_ENV'] === 'production' || Object.keys(env).some((name) => name.startsWith('GANGWAY_'));
  return { kind: isMeant ? 'environment' : 'none' };
}
