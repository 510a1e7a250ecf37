import { expect, it } from 'vitest';
import { mapAtOnce } from '../../src/lib/lists.ts';

/** Work that ends when the test says so. */
function openWork() {
  const begun: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<void>>();
  return {
    begun,
    end: (item: number) => ends.get(item)?.resolve(),
    fail: (item: number) => ends.get(item)?.reject(new Error(`failed at ${item}`)),
    async work(item: number): Promise<number> {
      begun.push(item);
      const end = Promise.withResolvers<void>();
      ends.set(item, end);
      await end.promise;
      return item * 2;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('runs the given number at once, each item once and in order, and keeps the order of the results', async () => {
  const { begun, work, end } = openWork();
  const all = mapAtOnce([1, 2, 3, 4, 5], 2, work);
  expect(begun).toEqual([1, 2]);
  end(2);
  await turn();
  expect(begun).toEqual([1, 2, 3]);
  for (const item of [3, 4, 5, 1]) {
    end(item);
    await turn();
  }
  expect(await all).toEqual([2, 4, 6, 8, 10]);
  expect(begun).toEqual([1, 2, 3, 4, 5]);
});

it('begins no item after a failure, and fails with the first error when those under way have ended', async () => {
  const { begun, work, fail } = openWork();
  let failure: unknown;
  const all = mapAtOnce([1, 2, 3, 4], 2, work).catch((error: unknown) => {
    failure = error;
  });
  fail(1);
  await turn();
  expect(failure).toBeUndefined();
  fail(2);
  await all;
  expect(failure).toMatchObject({ message: 'failed at 1' });
  expect(begun).toEqual([1, 2]);
});

it('does nothing for an empty list', async () => {
  expect(await mapAtOnce([], 8, () => Promise.reject(new Error('never')))).toEqual([]);
});
