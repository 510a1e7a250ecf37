import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vitest/config';

const file = 'src/sources/http/caller.ts';
const changes: readonly (readonly [usual: string, inTests: string])[] = [
  ['requestsPerSecond: 10, burst: 20', 'requestsPerSecond: 10_000, burst: 10_000'],
  ['firstWaitMs: 500', 'firstWaitMs: 5'],
];

/**
 * A bridge in a test's own process asks the marketplace as fast as it can: by real time it would wait for each request
 * after the twentieth, and before it asks again what was not answered. A test of the pace sets its own.
 *
 * @throws Error where the usual pace is not written so any more
 */
export const unpaced: Plugin = {
  name: 'unpaced',
  enforce: 'pre',
  buildStart() {
    const code = readFileSync(file, 'utf8');
    const missing = changes.filter(([usual]) => !code.includes(usual));
    if (missing.length > 0) throw new Error(`No ${missing.join()} in ${file}`);
  },
  transform: (code, id) =>
    id === path.resolve(file) ? changes.reduce((changed, change) => changed.replace(...change), code) : code,
};
