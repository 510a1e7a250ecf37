import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of Gangway, from its package.json. */
export const version = readVersion();

/** Undefined in the sources, and in a bundle that was built outside of a checkout. */
declare const BUILT_FROM: string | undefined;

/** The commit that this was built from; null if unknown. */
export const commit = (typeof BUILT_FROM === 'undefined' ? '' : BUILT_FROM) || null;

/** The latest migration, repeated here because `--version` loads no database. */
export const schema = '0002-hires';

function readVersion(): string {
  const file = findPackageJSON(import.meta.url);
  if (file === undefined) return 'unknown';
  const { version: said } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
  return said ?? 'unknown';
}
