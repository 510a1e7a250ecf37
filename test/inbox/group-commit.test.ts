import { expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { createGroupCommit } from '../../src/inbox/inbox.ts';

/** Commits that the test ends, one after the other, in the order in which they began. */
function openGroupCommit({ maxGroupSize = 4, maxUnderway = 1, maxWaiting = 100 } = {}) {
  let ended = 0;
  const begun: { items: readonly string[]; end(error?: unknown): void }[] = [];
  const group = createGroupCommit<string, string>({
    maxGroupSize,
    maxUnderway,
    maxWaiting,
    commit(items) {
      const { promise, resolve, reject } = Promise.withResolvers<string[]>();
      const committed = items.map((item) => `${item} committed`);
      begun.push({
        items,
        end: (error) => (error === undefined ? resolve(committed) : reject(error)),
      });
      return promise;
    },
  });
  return {
    count: group.count,
    add: (...items: string[]) => items.map((item) => group.add(item)),
    groups: () => begun.map(({ items }) => items.join('')),
    /** Ends the oldest commit under way and lets everything that waits for it go on. */
    async end(error?: unknown): Promise<void> {
      begun[ended++]?.end(error);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

it('begins as many commits as may be under way, and gathers what comes after', async () => {
  const { add, end, groups, count } = openGroupCommit({ maxUnderway: 2 });
  const results = add('a', 'b', 'c', 'd');
  expect(groups()).toEqual(['a', 'b']);
  await end();
  expect(groups()).toEqual(['a', 'b', 'cd']);
  await end();
  await end();
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd'].map((one) => `${one} committed`));
  expect(count()).toBe(0);
});

it('has the next group under way before it answers the one before', async () => {
  const { add, end, groups } = openGroupCommit();
  const [first] = add('a', 'b');
  const seen = first?.then(() => groups());
  await end();
  expect(await seen).toEqual(['a', 'b']);
  await end();
});

it('commits the first item at once and the others together when that is done', async () => {
  const { add, end, groups } = openGroupCommit();
  const results = add('a', 'b', 'c');
  expect(groups()).toEqual(['a']);
  await end();
  expect(groups()).toEqual(['a', 'bc']);
  await end();
  expect(await Promise.all(results)).toEqual(['a committed', 'b committed', 'c committed']);
});

it('has one commit under way at a time, of no more than the largest group', async () => {
  const { add, end, groups } = openGroupCommit({ maxGroupSize: 3 });
  add('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  for (const expected of [['a'], ['a', 'bcd'], ['a', 'bcd', 'efg'], ['a', 'bcd', 'efg', 'h']]) {
    expect(groups()).toEqual(expected);
    await end();
  }
  expect(groups()).toHaveLength(4);
});

it('answers an item only when its commit has ended', async () => {
  const { add, end } = openGroupCommit();
  const answered: string[] = [];
  for (const result of add('a', 'b')) void result.then((text) => answered.push(text));
  await new Promise((resolve) => setImmediate(resolve));
  expect(answered).toEqual([]);
  await end();
  expect(answered).toEqual(['a committed']);
  await end();
  expect(answered).toEqual(['a committed', 'b committed']);
});

it('counts the items that are not committed yet', async () => {
  const { add, end, count } = openGroupCommit();
  expect(count()).toBe(0);
  add('a', 'b', 'c');
  expect(count()).toBe(3);
  await end();
  expect(count()).toBe(2);
  await end();
  expect(count()).toBe(0);
});

it('begins again after a rest', async () => {
  const { add, end, groups } = openGroupCommit();
  add('a');
  await end();
  add('b');
  expect(groups()).toEqual(['a', 'b']);
});

it('takes items that come during a commit into the next one', async () => {
  const { add, end, groups } = openGroupCommit();
  add('a');
  add('b');
  await end();
  add('c');
  await end();
  expect(groups()).toEqual(['a', 'b', 'c']);
});

it('commits the items of a failed group singly, so that only the bad one is refused', async () => {
  const { add, end, groups } = openGroupCommit();
  const results = Promise.allSettled(add('a', 'b', 'c', 'd'));
  const bad = new AppError('internal', 'a bad row');
  await end();
  await end(bad);
  await end();
  await end(bad);
  await end();
  expect(groups()).toEqual(['a', 'bcd', 'b', 'c', 'd']);
  expect(await results).toEqual([
    { status: 'fulfilled', value: 'a committed' },
    { status: 'fulfilled', value: 'b committed' },
    { status: 'rejected', reason: bad },
    { status: 'fulfilled', value: 'd committed' },
  ]);
});

it('refuses a whole group at once when trying again later may help', async () => {
  const { add, end, groups } = openGroupCommit();
  const results = Promise.allSettled(add('a', 'b', 'c'));
  const busy = new AppError('unavailable', 'the disk is full');
  await end();
  await end(busy);
  expect(groups()).toEqual(['a', 'bc']);
  const [, ...refused] = await results;
  expect(refused).toEqual([
    { status: 'rejected', reason: busy },
    { status: 'rejected', reason: busy },
  ]);
});

it('goes on after a failure, of a whole group or of one item', async () => {
  const { add, end } = openGroupCommit();
  const refused = Promise.allSettled(add('a'));
  await end(new AppError('internal', 'a bad row'));
  const [later] = add('b');
  await end();
  expect(await later).toBe('b committed');
  expect(await refused).toMatchObject([{ status: 'rejected' }]);
});

it('refuses more than may wait, and takes them again when there is room', async () => {
  const { add, end, groups } = openGroupCommit({ maxGroupSize: 2, maxWaiting: 3 });
  add('a', 'b', 'c', 'd');
  await expect(add('e')[0]).rejects.toMatchObject({ code: 'unavailable' });
  await end();
  add('f');
  await end();
  await end();
  expect(groups()).toEqual(['a', 'bc', 'df']);
});

it('refuses an item that the commit gave no result for', async () => {
  const group = createGroupCommit<string, string>({
    maxGroupSize: 4,
    maxUnderway: 1,
    maxWaiting: 100,
    commit: async () => [],
  });
  await expect(group.add('a')).rejects.toMatchObject({ code: 'internal' });
});

it('refuses an item whose commit throws before it begins', async () => {
  const group = createGroupCommit<string, string>({
    maxGroupSize: 4,
    maxUnderway: 1,
    maxWaiting: 100,
    commit() {
      throw new Error('not even begun');
    },
  });
  await expect(group.add('a')).rejects.toThrow('not even begun');
});
