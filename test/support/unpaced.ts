import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vitest/config';

const file = 'src/sources/http/caller.ts';

const quicker = [
  ['requestsPerSecond: 10, burst: 20', 'requestsPerSecond: 10_000, burst: 10_000'],
  ['firstWaitMs: 500,', 'firstWaitMs: 20,'],
] as const;

/**
 * A bridge in a test's own process asks the marketplace as fast as it can: by real time it would wait for each request
 * after the twentieth, and seconds for each that failed. A test of the pace sets its own.
 *
 * @throws Error where something usual is not written so any more
 */
export const unpaced: Plugin = {
  name: 'unpaced',
  enforce: 'pre',
  buildStart() {
    const source = readFileSync(file, 'utf8');
    const missing = quicker.filter(([usual]) => !source.includes(usual));
    if (missing.length > 0) throw new Error(`Not in ${file}: ${missing.join()}`);
  },
  transform: (code, id) =>
    id === path.resolve(file)
      ? quicker.reduce((changed, [usual, instead]) => changed.replace(usual, instead), code)
      : code,
};
