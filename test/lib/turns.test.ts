import { describe, expect, it } from 'vitest';
import { createTurns } from '../../src/lib/turns.ts';

/** How much each has, by name. Taking reduces it. */
function createStock(stock: Record<string, number>) {
  const turns = createTurns();
  const left = new Map(Object.entries(stock));
  return async (limit: number) => {
    const names = [...left].filter(([, count]) => count > 0).map(([name]) => name);
    return await turns.take(names, limit, async (name, part) => {
      const taken = Math.min(part, left.get(name) ?? 0);
      left.set(name, (left.get(name) ?? 0) - taken);
      return Array.from({ length: taken }, () => name);
    });
  };
}

describe('turns', () => {
  it('give everything to the only name', async () => {
    const take = createStock({ a: 100 });
    expect(await take(8)).toEqual(Array(8).fill('a'));
  });

  it('give an equal part to each, one after the other', async () => {
    const take = createStock({ a: 100, b: 100 });
    expect(await take(6)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  });

  it('give what one name does not use to those after it', async () => {
    const take = createStock({ a: 1, b: 100, c: 1 });
    expect(await take(6)).toEqual(['a', 'b', 'c', 'b', 'b']);
  });

  it('begin with another name each time', async () => {
    const take = createStock({ a: 100, b: 100, c: 100 });
    const first = [];
    for (let round = 0; round < 6; round += 1) first.push((await take(3))[0]);
    expect(first).toEqual(['a', 'b', 'c', 'a', 'b', 'c']);
  });

  it('serve every name in time, even if more wait than are served at once', async () => {
    const take = createStock({ a: 100, b: 100, c: 100, d: 100, e: 100 });
    const served = [...(await take(2)), ...(await take(2)), ...(await take(2))];
    expect(new Set(served).size).toBe(5);
  });

  it('begin after the name that was served last, even if it no longer waits', () => {
    const turns = createTurns();
    turns.served('b');
    expect(turns.inOrder(['c', 'a', 'b'])).toEqual(['c', 'a', 'b']);
    expect(turns.inOrder(['a', 'd'])).toEqual(['d', 'a']);
    turns.served('z');
    expect(turns.inOrder(['b', 'a'])).toEqual(['a', 'b']);
    expect(turns.inOrder([])).toEqual([]);
  });
});
