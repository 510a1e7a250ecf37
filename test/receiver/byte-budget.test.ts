import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ByteShare, createByteBudget } from '../../src/receiver/limits.ts';

/** Takes byte after byte until there is no more room. */
function takeAll(share: ByteShare): number {
  for (let taken = 0; ; taken += 1) if (!share.take(1)) return taken;
}

it('lets one owner have half, and others still have their part', () => {
  const budget = createByteBudget(600);
  expect(takeAll(budget.open('a'))).toBe(300);
  expect(takeAll(budget.open('a'))).toBe(0);
  expect(takeAll(budget.open('b'))).toBe(150);
  expect(takeAll(budget.open('c'))).toBe(75);
});

it('has room again for what is given back, which is given back once', () => {
  const budget = createByteBudget(600);
  const [first, second] = [budget.open('a'), budget.open('a')];
  expect(first.take(200)).toBe(true);
  expect(second.take(101)).toBe(false);
  expect(second.take(100)).toBe(true);
  first.release();
  first.release();
  expect(takeAll(second)).toBe(200);
});

it('does not count what there was no room for', () => {
  const budget = createByteBudget(600);
  const share = budget.open('a');
  expect(share.take(301)).toBe(false);
  expect(share.take(300)).toBe(true);
});

it('never holds more than it may, and leaves something for each next owner', () => {
  const takes = fc.array(fc.record({ owner: fc.nat(9), bytes: fc.integer({ min: 1, max: 400 }) }));
  const check = fc.property(takes, (asked) => {
    const budget = createByteBudget(1000);
    let held = 0;
    for (const { owner, bytes } of asked) {
      if (budget.open(`${owner}`).take(bytes)) held += bytes;
    }
    expect(held).toBeLessThan(1000);
    expect(budget.open('newcomer').take(1)).toBe(true);
  });
  fc.assert(check);
});
