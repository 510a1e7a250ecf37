import { expect, it } from 'vitest';
import { mapBounded } from '../../src/lib/map-bounded.ts';

it('keeps the order, and no more under way than it may', async () => {
  const ends: (() => void)[] = [];
  let most = 0;
  const mapped = mapBounded([5, 6, 7, 8, 9], 2, async (item) => {
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
  expect(await mapBounded([], 2, () => Promise.reject(new Error('never')))).toEqual([]);
});

it('fails with the first that fails', async () => {
  const failing = mapBounded([1, 2], 2, (item) => Promise.reject(new Error(`no ${item}`)));
  await expect(failing).rejects.toThrow('no 1');
});
