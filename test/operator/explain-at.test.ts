import { expect, it } from 'vitest';
import { askOfPast, ofAnyPast, seedsOfPasts } from '../support/asked-past.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { tries } from '../support/tries.ts';

describeEachDatabase('why trainers had access at an instant', (openFresh) => {
  /** Of the first that `npm run test:pasts` lives through. */
  it('is what the engine said when it was stopped there, for any past', async () => {
    const sayings: string[] = [];
    for (const seed of seedsOfPasts(tries(10))) sayings.push(...(await askOfPast(await openFresh(), seed)));
    expect([...new Set(sayings)]).toEqual(expect.arrayContaining(ofAnyPast));
  });
});
