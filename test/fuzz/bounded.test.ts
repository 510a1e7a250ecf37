import { expect, it } from 'vitest';
import { isThorough } from '../support/tries.ts';
import { runTarget } from './target.ts';
import { targets } from './targets.ts';

/** At a desk SQLite alone stands behind the console. */
const chosen = targets.filter(({ name }) => isThorough || !name.includes('postgres'));

it.each(chosen)('$name does what it may with hundreds of inputs', async (target) => {
  const { findings, outcomes } = await runTarget(target, target.inputs.short, '1');
  expect(findings).toEqual([]);
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining([...target.reaches]));
});
