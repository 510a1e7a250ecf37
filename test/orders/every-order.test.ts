import { describe, expect, it } from 'vitest';
import { histories } from './histories.ts';
import { walkHistory } from './walk-history.ts';

/** Two worlds that differ in both; `npm run test:orders` has all four, losses and repeats. */
const worlds = [
  { asksAsItHappened: true, isPrompt: false },
  { asksAsItHappened: false, isPrompt: true },
];

const named = histories.map((history) => [history.name, history] as const);

describe('every order of what arrives', () => {
  it.each(named)('ends no access wrongly and loses no end: %s', async (_, history) => {
    for (const world of worlds) {
      const { orders } = await walkHistory(history, world);
      expect(orders).toBe(factorial(history.arrivals.length));
    }
  });
});

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}
