import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { openDatabase } from '../../../src/db/open-database.ts';
import type { Appended, NewDelivery } from '../../../src/domain/delivery.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { createInbox, createThreadedAppend } from '../../../src/inbox/inbox.ts';
import { createSecretBox } from '../../../src/keys/secret-box.ts';
import { describeEachDatabase, openForTest, postgres, sqlite } from '../../support/databases.ts';
import { contractsStarted } from '../../support/deliveries.ts';
import { until } from '../../support/until.ts';

const key = randomBytes(32);
const deliveries = contractsStarted(200);
type Append = (deliveries: readonly NewDelivery[]) => Promise<Appended[]>;

describeEachDatabase('two instances that are sent the same 200 deliveries', (openFresh) => {
  it('store each once and answer each with success, batch by batch', async () => {
    const database = await openFresh();
    const answers = await Promise.all(
      connect(database).map(async (append, instance) => {
        const statuses: Appended['status'][] = [];
        for (let first = 0; first < deliveries.length; first += 20) {
          const batch = deliveries.slice(first, first + 20);
          const appended = await append(instance === 0 ? batch : batch.toReversed());
          statuses.push(...appended.map(({ status }) => status));
        }
        return statuses;
      }),
    );
    await expectEachOnce(database, answers.flat());
  });

  it('store each once when everything comes at the same moment', async () => {
    const database = await openFresh();
    const inboxes = connect(database).map((append) => createInbox({ append, onAppended: () => undefined }));
    const answers = await Promise.all(inboxes.flatMap((inbox) => deliveries.map((delivery) => inbox.append(delivery))));
    await expectEachOnce(
      database,
      answers.map(({ status }) => status),
    );
  });

  it('retry a failed delivery once', async () => {
    const database = await openFresh();
    const [first, second] = connect(database);
    await first(deliveries);
    await database.kysely.updateTable('delivery').set({ state: 'failed' }).execute();
    await Promise.all([first(deliveries), second(deliveries.toReversed())]);
    const rows = await database.kysely.selectFrom('delivery').select('state').execute();
    expect(rows.filter(({ state }) => state === 'pending')).toHaveLength(200);
  });
});

it('two threads on one file store each of 200 deliveries once', async () => {
  const database = openForTest(await sqlite.createMigrated());
  const threads = [1, 2].map(() => createThreadedAppend({ url: database.url, key }));
  for (const { close } of threads) onTestFinished(close);
  const inboxes = threads.map(({ append }) => createInbox({ append, onAppended: () => undefined }));
  const answers = await Promise.all(deliveries.flatMap((delivery) => inboxes.map((inbox) => inbox.append(delivery))));
  await expectEachOnce(
    database,
    answers.map(({ status }) => status),
  );
});

it('two instances on PostgreSQL never deadlock, whatever the order in which they store', async () => {
  const database = openForTest(await postgres.createMigrated());
  // A test before may have made some on purpose.
  const before = await countDeadlocks(database);
  const instances = [1, 2].map(() => openDatabase(database.url));
  for (let round = 0; round < 4; round += 1) {
    const batch = contractsStarted(100, round * 100);
    await Promise.all(
      instances.map((instance, index) =>
        appendDeliveries({ database: instance, box: createSecretBox(key) }, index === 0 ? batch : batch.toReversed()),
      ),
    );
  }
  await Promise.all(instances.map((instance) => instance.close()));
  expect((await countDeadlocks(database)) - before).toBe(0);
});

/** What a connection has seen is counted once it has ended. */
async function countDeadlocks({ kysely }: Database): Promise<number> {
  const others = sql`
    select pid from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`;
  const connected = async () => (await others.execute(kysely)).rows;
  await until('the others have ended', connected, ({ length }) => length === 0);
  const { rows } = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(kysely);
  return rows[0]?.deadlocks ?? Number.NaN;
}

/** Two connections of their own. */
function connect({ url }: Database): [Append, Append] {
  const open = (): Append => {
    const storage = { database: openForTest(url), box: createSecretBox(key) };
    return (deliveries) => appendDeliveries(storage, deliveries);
  };
  return [open(), open()];
}

async function expectEachOnce(database: Database, statuses: Appended['status'][]): Promise<void> {
  const counts = Object.groupBy(statuses, (status) => status);
  expect(counts['accepted']).toHaveLength(200);
  expect(counts['duplicate']).toHaveLength(200);
  const rows = await database.kysely.selectFrom('delivery').select('bodySha256').execute();
  expect(new Set(rows.map(({ bodySha256 }) => bodySha256.toString('hex'))).size).toBe(200);
  expect(rows).toHaveLength(200);
}
