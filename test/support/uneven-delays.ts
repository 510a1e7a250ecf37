import type { Plugin } from 'vitest/config';
import { changedSources } from './changed-sources.ts';

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
    replace: `${delay}const restMs = await runOnce();${delay}`,
  },
  {
    file: 'src/lib/lanes.ts',
    find: '.then(() => work(beat))',
    replace: `.then(async () => { ${delay} }).then(() => work(beat))`,
  },
  {
    file: 'src/sandbox/dispatcher.ts',
    find: 'const outcome = await deps.send(request, signal);',
    replace: `${delay}const outcome = await deps.send(request, signal);`,
  },
];

/**
 * `TEST_DELAYS=60 npm test`: the loops of a bridge and the marketplace's deliveries are delayed by chance, as on a busy
 * machine. A test that is red by it counts on an order that nothing promises.
 */
export const unevenDelays: Plugin = { ...changedSources('uneven delays', delayed), apply: () => mostMs > 0 };
