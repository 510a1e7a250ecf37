import { expect, it } from 'vitest';
import { runTarget } from './target.ts';
import { targets } from './targets.ts';

/**
 * A million inputs across all borders. `INPUTS=500` sets the number for each border, `FUZZ_SEED=7` chooses other inputs,
 * and `FUZZ_SEED=7.12 npm run test:fuzz -- -t cursors` repeats a single one.
 */

const { INPUTS, FUZZ_SEED = '1' } = process.env;

it.each(targets)('$name: a very large number of random inputs finds nothing', async (target) => {
  const fuzzed = await runTarget(target, Number(INPUTS ?? target.inputs.long), FUZZ_SEED);
  const { inputs, seconds, slowest, outcomes, findings } = fuzzed;
  const counts = [...outcomes].sort(([, one], [, other]) => other - one).map(([name, count]) => `${name} ${count}`);
  const slow = `slowest ${slowest.ms.toFixed(0)} ms (${slowest.seed})`;
  process.stdout.write(`${target.name}: ${inputs} inputs, ${seconds.toFixed(0)} s, ${slow}; ${counts.join(', ')}\n`);
  expect(findings).toEqual([]);
});

it('all borders together get a million inputs by default', () => {
  const all = targets.reduce((sum, { inputs }) => sum + inputs.long, 0);
  expect(all).toBeGreaterThanOrEqual(1_000_000);
});
