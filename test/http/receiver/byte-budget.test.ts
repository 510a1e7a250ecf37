import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ByteShare, createByteBudget } from '../../../src/http/receiver/limits.ts';

/** Takes byte after byte until there is no more room. */
function takeAll(share: ByteShare): number {
  for (let taken = 0; ; taken += 1) if (!share.take(1)) return taken;
}

it('gives one owner half, and leaves a share for others', () => {
  const budget = createByteBudget(600);
  expect(takeAll(budget.open('a'))).toBe(300);
  expect(takeAll(budget.open('a'))).toBe(0);
  expect(takeAll(budget.open('b'))).toBe(150);
  expect(takeAll(budget.open('c'))).toBe(75);
});

it('gets released bytes back, and only once', () => {
  const budget = createByteBudget(600);
  const [first, second] = [budget.open('a'), budget.open('a')];
  expect(first.take(200)).toBe(true);
  expect(second.take(101)).toBe(false);
  expect(second.take(100)).toBe(true);
  first.release();
  first.release();
  expect(takeAll(second)).toBe(200);
});

it('does not count what it refused', () => {
  const budget = createByteBudget(600);
  const share = budget.open('a');
  expect(share.take(301)).toBe(false);
  expect(share.take(300)).toBe(true);
});

it('never exceeds its limit, and leaves something for the next owner', () => {
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
