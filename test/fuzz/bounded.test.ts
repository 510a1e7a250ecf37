import { expect, it } from 'vitest';
import { runTarget } from './target.ts';
import { targets } from './targets.ts';

it.each(targets)('$name does what it may with some thousand inputs', async (target) => {
  const { findings, outcomes } = await runTarget(target, target.inputs.short, '1');
  expect(findings).toEqual([]);
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining([...target.reaches]));
});
