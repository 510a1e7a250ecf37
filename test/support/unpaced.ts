import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vitest/config';

const file = 'src/sources/http/caller.ts';
const usual = 'requestsPerSecond: 10, burst: 20';

/**
 * A bridge in a test's own process asks the marketplace as fast as it can: by real time it would wait for each request
 * after the twentieth. A test of the pace sets its own.
 *
 * @throws Error where the usual pace is not written so any more
 */
export const unpaced: Plugin = {
  name: 'unpaced',
  enforce: 'pre',
  buildStart() {
    if (!readFileSync(file, 'utf8').includes(usual)) throw new Error(`No usual pace in ${file}`);
  },
  transform: (code, id) =>
    id === path.resolve(file) ? code.replace(usual, 'requestsPerSecond: 10_000, burst: 10_000') : code,
};
