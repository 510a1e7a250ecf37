import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { createThreadedAppend, type ThreadedAppend } from '../../src/inbox/inbox.ts';
import { openBody } from '../../src/inbox/inbox-store.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { openForTest, sqlite } from '../support/databases.ts';
import { contractStarted, contractsStarted, newDelivery } from '../support/deliveries.ts';

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

it('leaves the bodies it was given as they were', async () => {
  const { append } = await openThreaded();
  const delivery = newDelivery(contractStarted());
  await append([delivery]);
  expect(Buffer.from(delivery.body).toString()).toBe(contractStarted());
});

it('refuses what the thread could not store with the code it had there', async () => {
  const { database, append } = await openThreaded();
  await database.kysely.schema.dropTable('delivery').execute();
  await expect(append(contractsStarted(1))).rejects.toMatchObject({ code: 'internal' });
});

it('answers that it is unavailable while its thread cannot begin, and stores once it can', async () => {
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

it('refuses what a dying thread was at, and is started again for the next', async () => {
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

it('is started again after a thread that died at rest', async () => {
  const { append, thread } = await openThreaded();
  await append(contractsStarted(1));
  await (await thread).terminate();
  expect(await append(contractsStarted(1))).toMatchObject([{ status: 'duplicate' }]);
});

it('ends its thread when no delivery comes for a while, and starts another for the next', async () => {
  const { append, thread } = await openThreaded(20);
  await append(contractsStarted(1));
  await once(await thread, 'exit');
  expect(await append(contractsStarted(2))).toMatchObject([{ status: 'duplicate' }, { status: 'accepted' }]);
});

it('closes its thread, also one that was never begun', async () => {
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
