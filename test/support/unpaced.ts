import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vitest/config';

interface Change {
  file: string;
  usual: string;
  inTests: string;
}

const changes: readonly Change[] = [
  {
    file: 'src/sources/http/caller.ts',
    usual: 'requestsPerSecond: 10, burst: 20',
    inTests: 'requestsPerSecond: 10_000, burst: 10_000',
  },
  { file: 'src/sources/http/caller.ts', usual: 'firstWaitMs: 500', inTests: 'firstWaitMs: 5' },
  {
    file: 'src/installs/subscription/rotate-endpoint.ts',
    usual: 'overlapMs = usualOverlapMs',
    inTests: 'overlapMs = usualOverlapMs / 10',
  },
  { file: 'src/operator/end-at-marketplace.ts', usual: '[2000, 60_000]', inTests: '[20, 20]' },
];

/**
 * A bridge in a test's own process asks the marketplace as fast as it can: by real time it would wait for each request
 * after the twentieth, before it asks again what was not answered, for seconds while both endpoints of a rotation
 * deliver, and until it looks again whether an end was approved. A test of the pace sets its own.
 *
 * @throws Error where what is usual is not written so any more
 */
export const unpaced: Plugin = {
  name: 'unpaced',
  enforce: 'pre',
  buildStart() {
    const missing = changes.filter(({ file, usual }) => !readFileSync(file, 'utf8').includes(usual));
    if (missing.length > 0) throw new Error(`No ${missing.map(({ usual, file }) => `${usual} in ${file}`).join()}`);
  },
  transform: (code, id) =>
    changes
      .filter(({ file }) => id === path.resolve(file))
      .reduce((changed, { usual, inTests }) => changed.replace(usual, inTests), code),
};
