import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';

/** Of Gangway: what its package says, wherever the compiled files lie. */
export const version = readVersion();

function readVersion(): string {
  const file = findPackageJSON(import.meta.url);
  if (file === undefined) return 'unknown';
  const { version: said } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string };
  return said ?? 'unknown';
}
