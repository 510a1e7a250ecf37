import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** The version of Gangway, from its package.json. */
export const version = readVersion();

function readVersion(): string {
  const file = findPackageJSON(import.meta.url);
  if (file === undefined) return 'unknown';
  const { version: said } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
  return said ?? 'unknown';
}
