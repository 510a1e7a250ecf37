import { expect, it } from 'vitest';
import { isThorough } from '../support/tries.ts';
import { runTarget } from './target.ts';
import { targets } from './targets.ts';

/** Unless all tries are asked for, the console runs on SQLite alone. */
const chosen = targets.filter(({ name }) => isThorough || !name.includes('postgres'));

it.each(chosen)('$name: hundreds of random inputs find nothing', async (target) => {
  const { findings, outcomes } = await runTarget(target, target.inputs.short, '1');
  expect(findings).toEqual([]);
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining([...target.reaches]));
});
