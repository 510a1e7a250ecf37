import { expect, it } from 'vitest';
import { runTarget } from './target.ts';
import { targets } from './targets.ts';

/**
 * A million inputs at all borders together. `INPUTS=500` says how many at each, `FUZZ_SEED=7` begins with others, and
 * `FUZZ_SEED=7.12 npm run test:fuzz -- -t cursors` gives that one again, alone.
 */

const { INPUTS, FUZZ_SEED = '1' } = process.env;

it.each(targets)('$name does what it may with very many inputs', async (target) => {
  const fuzzed = await runTarget(target, Number(INPUTS ?? target.inputs.long), FUZZ_SEED);
  const { inputs, seconds, slowest, outcomes, findings } = fuzzed;
  const counts = [...outcomes].sort(([, one], [, other]) => other - one).map(([name, count]) => `${name} ${count}`);
  const slow = `slowest ${slowest.ms.toFixed(0)} ms (${slowest.seed})`;
  process.stdout.write(`${target.name}: ${inputs} inputs, ${seconds.toFixed(0)} s, ${slow}; ${counts.join(', ')}\n`);
  expect(findings).toEqual([]);
});

it('is a million inputs, where nothing else is asked for', () => {
  const all = targets.reduce((sum, { inputs }) => sum + inputs.long, 0);
  expect(all).toBeGreaterThanOrEqual(1_000_000);
});
