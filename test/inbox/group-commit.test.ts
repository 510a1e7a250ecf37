import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { AppError } from '../../src/domain/errors.ts';
import { createGroupCommit, createThreadedAppend, type ThreadedAppend } from '../../src/inbox/inbox.ts';
import { openBody } from '../../src/inbox/inbox-store.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { contractStarted, contractsStarted, newDelivery } from '../support/deliveries.ts';

const limits = { maxGroupSize: 4, maxUnderway: 1, maxWaiting: 100 };

/** Commits that the test ends, one after the other, in the order in which they began. */
function openGroupCommit(changes: Partial<typeof limits> = {}) {
  let ended = 0;
  const begun: { items: readonly string[]; end(error?: unknown): void }[] = [];
  const group = createGroupCommit<string, string>({
    ...limits,
    ...changes,
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

it('begins as many commits as may be under way, and gathers later items', async () => {
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

it('starts the next group before it answers the one before', async () => {
  const { add, end, groups } = openGroupCommit();
  const [first] = add('a', 'b');
  const seen = first?.then(() => groups());
  await end();
  expect(await seen).toEqual(['a', 'b']);
  await end();
});

it('has one commit under way at a time, no larger than the largest group', async () => {
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

it('refuses a whole group after a transient failure', async () => {
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

it('refuses items beyond the maximum, until there is room', async () => {
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
  const group = createGroupCommit<string, string>({ ...limits, commit: async () => [] });
  await expect(group.add('a')).rejects.toMatchObject({ code: 'internal' });
});

it('refuses an item whose commit throws before it begins', async () => {
  const group = createGroupCommit<string, string>({
    ...limits,
    commit() {
      throw new Error('not even begun');
    },
  });
  await expect(group.add('a')).rejects.toThrow('not even begun');
});

const key = randomBytes(32);
const box = createSecretBox(key);

it('stores bodies of every size byte for byte, and answers in their order', async () => {
  const { database, append } = await openThreaded();
  const bodies = [
    contractStarted(),
    '',
    '[]',
    randomBytes(256 * 1024),
    contractStarted(),
    '{"type":"contract.ended","resourceId":"cmc1"}',
  ];
  const answers = await append(bodies.map((body) => newDelivery(body)));
  expect(answers.map(({ status }) => status)).toEqual([
    'accepted',
    'unprocessable',
    'unprocessable',
    'unprocessable',
    'duplicate',
    'accepted',
  ]);
  const stored = await storedBodies(database);
  const expected = bodies.filter((_, index) => index !== 4).map((body) => Buffer.from(body));
  expect(stored.toSorted(Buffer.compare)).toEqual(expected.toSorted(Buffer.compare));
});

it('does not change the bodies it was given', async () => {
  const { append } = await openThreaded();
  const delivery = newDelivery(contractStarted());
  await append([delivery]);
  expect(Buffer.from(delivery.body).toString()).toBe(contractStarted());
});

it('passes on the error code of the thread', async () => {
  const { database, append } = await openThreaded();
  await database.kysely.schema.dropTable('delivery').execute();
  await expect(append(contractsStarted(1))).rejects.toMatchObject({ code: 'internal' });
});

it('is unavailable while its thread cannot start, and stores once it can', async () => {
  const url = await sqlite.createMigrated();
  const data = { url: 'nowhere:', key };
  const { append } = closeAfterTest(createThreadedAppend(data));
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await expect(append(contractsStarted(1))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('The thread that stores deliveries'),
    });
  }
  data.url = url;
  expect(await append(contractsStarted(1))).toMatchObject([{ status: 'accepted' }]);
});

it('refuses what a dying thread was storing, and starts another for the next', async () => {
  const { database, append, thread } = await openThreaded();
  const appending = append(contractsStarted(1, 1));
  await (await thread).terminate();
  await expect(appending).rejects.toMatchObject({ code: 'unavailable' });
  await append(contractsStarted(2, 1));
  expect(await append(contractsStarted(3, 1))).toMatchObject([
    { status: 'duplicate' },
    { status: 'duplicate' },
    { status: 'accepted' },
  ]);
  expect(await storedBodies(database)).toHaveLength(3);
});

it('starts another thread after one that died idle', async () => {
  const { append, thread } = await openThreaded();
  await append(contractsStarted(1));
  await (await thread).terminate();
  expect(await append(contractsStarted(1))).toMatchObject([{ status: 'duplicate' }]);
});

it('ends an idle thread, and starts another for the next delivery', async () => {
  const { append, thread } = await openThreaded(20);
  await append(contractsStarted(1));
  await once(await thread, 'exit');
  expect(await append(contractsStarted(2))).toMatchObject([{ status: 'duplicate' }, { status: 'accepted' }]);
});

it('closes, even if its thread was never started', async () => {
  const url = await sqlite.createMigrated();
  const threaded = createThreadedAppend({ url, key });
  await threaded.close();
  await threaded.append(contractsStarted(1));
  await threaded.close();
  await threaded.close();
});

async function openThreaded(quietMs?: number) {
  const database = openForTest(await sqlite.createMigrated());
  const thread = new Promise<Worker>((resolve) => process.once('worker', resolve));
  const threaded = closeAfterTest(createThreadedAppend({ url: database.url, key }, quietMs));
  /** `thread`: the first that is started. */
  return { database, thread, ...threaded };
}

function closeAfterTest(threaded: ThreadedAppend): ThreadedAppend {
  onTestFinished(() => threaded.close());
  return threaded;
}

async function storedBodies(database: Database): Promise<Buffer[]> {
  const { kysely } = database;
  const storage = { database, box };
  const rows = await kysely.selectFrom('delivery').selectAll().orderBy('id').execute();
  return rows.map((row) => openBody(storage, row));
}
