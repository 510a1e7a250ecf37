import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vitest/config';

/** Up to so many milliseconds; none by default. */
const mostMs = Number(process.env['TEST_DELAYS'] ?? 0);
/** Of all delays that could be. */
const share = 0.4;

const delay = `await new Promise((over) => setTimeout(over, Math.random() < ${share} ? Math.random() * ${mostMs} : 0));`;

/** Where a bridge, or the marketplace of the sandbox, goes on to what comes next: what a busy machine may delay. */
const delayed = [
  {
    file: 'src/lib/loop.ts',
    find: 'const restMs = await runOnce();',
    replace: (found: string) => delay + found + delay,
  },
  {
    file: 'src/lib/lanes.ts',
    find: '.then(() => work(beat))',
    replace: (found: string) => `.then(async () => { ${delay} })${found}`,
  },
  {
    file: 'src/sandbox/dispatcher.ts',
    find: 'const outcome = await deps.send(request, signal);',
    replace: (found: string) => delay + found,
  },
];

/**
 * `TEST_DELAYS=60 npm test`: the loops of a bridge and the marketplace's deliveries are delayed by chance, as on a busy
 * machine. A test that is red by it counts on an order that nothing promises.
 *
 * @throws Error where something is not written so any more
 */
export const unevenDelays: Plugin = {
  name: 'uneven delays',
  enforce: 'pre',
  apply: () => mostMs > 0,
  buildStart() {
    const missing = delayed.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2);
    if (missing.length > 0) throw new Error(`Nothing to delay in ${missing.map(({ file }) => file).join()}`);
  },
  transform: (code, id) =>
    delayed
      .filter(({ file }) => id === path.resolve(file))
      .reduce((changed, { find, replace }) => changed.replace(find, replace), code),
};
