import { describe, expect, it } from 'vitest';
import { isThorough } from '../support/tries.ts';
import { histories } from './histories.ts';
import { walkHistory } from './walk-history.ts';
import type { World } from './walk-orders.ts';

/** Two worlds that differ in both ways; `npm run test:orders` covers all four, losses and repeats. */
const worlds = [
  { asksAsItHappened: true, isPrompt: false },
  { asksAsItHappened: false, isPrompt: true },
];

const named = histories.map((history) => [history.name, history] as const);

describe('every order of arrivals', () => {
  it.each(named)('ends no access by mistake and misses no end: %s', async (_, history) => {
    // Unless all tries are asked for, every other history runs in the one world, and the rest in the other.
    const chosen = isThorough ? worlds : [worlds[histories.indexOf(history) % 2] as World];
    for (const world of chosen) {
      const { orders } = await walkHistory(history, world);
      expect(orders).toBe(factorial(history.arrivals.length));
    }
  });
});

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}
