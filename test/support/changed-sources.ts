import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Plugin } from 'vitest/config';

/** A text that occurs once in a source file, and the text that tests load instead. */
interface SourceChange {
  file: string;
  find: string;
  replace: string;
}

/** @throws Error if a text does not occur exactly once in its file */
function changedSources(name: string, changes: readonly SourceChange[]): Plugin {
  return {
    name,
    enforce: 'pre',
    buildStart() {
      const missing = changes.filter(({ file, find }) => readFileSync(file, 'utf8').split(find).length !== 2);
      const list = missing.map(({ file, find }) => `“${find}” in ${file}`).join();
      if (missing.length > 0) throw new Error(`Nothing to change for ${name}: ${list}`);
    },
    transform: (code, id) =>
      changes
        .filter(({ file }) => id === path.resolve(file))
        .reduce((changed, { find, replace }) => changed.replace(find, () => replace), code),
  };
}

/** In milliseconds, at most. */
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
    file: 'src/jobs/job-worker.ts',
    find: 'const waitMs = await kind.run(ctx, job, signal, hold);',
    replace: `${delay}const waitMs = await kind.run(ctx, job, signal, hold);${delay}`,
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

const caller = 'src/marketplace/client.ts';

/**
 * A bridge in a test's own process does not wait in real time for the marketplace: not for its turn after the twentieth
 * request, nor before a retry, while both endpoints of a rotation deliver, or between two looks at an approval. A test
 * of the pace sets its own.
 */
export const unpaced = changedSources('unpaced', [
  {
    file: caller,
    find: 'requestsPerSecond: 10, burst: 20',
    replace: 'requestsPerSecond: 10_000, burst: 10_000',
  },
  { file: caller, find: 'firstWaitMs: 500', replace: 'firstWaitMs: 5' },
  {
    file: 'src/subscription/change-endpoint.ts',
    find: 'overlapMs = usualOverlapMs',
    replace: 'overlapMs = usualOverlapMs / 10',
  },
  { file: 'src/marketplace/follow-approval.ts', find: '[2000, 60_000]', replace: '[20, 20]' },
]);
