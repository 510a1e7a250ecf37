import { expect, it } from 'vitest';
import { mapAtOnce } from '../../src/lib/at-once.ts';

/** Work that ends when the test says so. */
function openWork() {
  const begun: number[] = [];
  const ends = new Map<number, PromiseWithResolvers<void>>();
  return {
    begun,
    end: (item: number) => ends.get(item)?.resolve(),
    fail: (item: number) => ends.get(item)?.reject(new Error(`failed at ${item}`)),
    async work(item: number): Promise<void> {
      begun.push(item);
      const end = Promise.withResolvers<void>();
      ends.set(item, end);
      await end.promise;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it('does so many at once, in their order, and each of them once', async () => {
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
  await all;
  expect(begun).toEqual([1, 2, 3, 4, 5]);
});

it('begins none after a failure, and ends when those under way have', async () => {
  const { begun, work, end, fail } = openWork();
  let failure: unknown;
  const all = mapAtOnce([1, 2, 3, 4], 2, work).catch((error: unknown) => {
    failure = error;
  });
  fail(1);
  await turn();
  expect(failure).toBeUndefined();
  end(2);
  await all;
  expect(failure).toMatchObject({ message: 'failed at 1' });
  expect(begun).toEqual([1, 2]);
});

it('does nothing of nothing', async () => {
  await mapAtOnce([], 8, () => Promise.reject(new Error('never')));
});

it('keeps the order, and no more under way than it may', async () => {
  const ends: (() => void)[] = [];
  let most = 0;
  const mapped = mapAtOnce([5, 6, 7, 8, 9], 2, async (item) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    most = Math.max(most, ends.push(resolve));
    await promise;
    return item * 2;
  });
  // The later of those under way ends first.
  while (ends.length > 0) {
    ends.pop()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await mapped).toEqual([10, 12, 14, 16, 18]);
  expect(most).toBe(2);
  expect(await mapAtOnce([], 2, () => Promise.reject(new Error('never')))).toEqual([]);
});

it('fails with the first that fails', async () => {
  const failing = mapAtOnce([1, 2], 2, (item) => Promise.reject(new Error(`no ${item}`)));
  await expect(failing).rejects.toThrow('no 1');
});
