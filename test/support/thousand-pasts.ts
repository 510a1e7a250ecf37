import { describe, expect, it } from 'vitest';
import { askOfPast, ofAnyPast, seedsOfPasts } from './asked-past.ts';
import type { OpenFresh } from './databases.ts';

/**
 * Pasts by the thousand: `PASTS=200 npm run test:pasts` lives through so many. They are always the same, so that one
 * which is red can be lived again alone: `PASTS=1 PASTS_SEED=37`.
 */
const count = Number(process.env['PASTS'] ?? 1000);

/** @param share of the pasts that this database lives through */
export function thousandPasts(database: string, share: number, openFresh: OpenFresh): void {
  const seeds = seedsOfPasts(Math.ceil(count * share));
  const sayings = new Set<string>();

  describe(`why trainers had access at any instant of any past, on ${database}`, () => {
    it.each(seeds)('is what the engine said when it was stopped there: past %i', async (seed) => {
      for (const says of await askOfPast(await openFresh(), seed)) sayings.add(says);
    });

    it.runIf(seeds.length > 1)(`says all there is to say, in pasts ${seeds[0]} to ${seeds.at(-1)}`, () => {
      expect([...sayings]).toEqual(expect.arrayContaining(ofAnyPast));
    });
  });
}
