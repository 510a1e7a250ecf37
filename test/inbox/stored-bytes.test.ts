import { expect, it } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { deleteOld, readStored, removeDeliveries } from '../../src/inbox/storage-store.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { contractsStarted, newDelivery } from '../support/deliveries.ts';
import { storageOf } from '../support/storage-of.ts';

const later = '2026-03-16T00:00:00.000Z';
const muchLater = '2027-01-01T00:00:00.000Z';

async function openStored(openFresh: () => Promise<Database>) {
  const database = await openFresh();
  const storage = storageOf(database);
  return {
    database,
    storage,
    counted: async () => Object.fromEntries(await readStored(database.kysely)),
    settleAll: () => inTransaction(database, (tx) => tx.updateTable('delivery').set({ nextAttemptAt: null }).execute()),
  };
}

/** What the count has to be, from the rows themselves. */
async function weigh({ kysely }: Database): Promise<Record<string, number>> {
  const rows = await kysely.selectFrom('delivery').selectAll().execute();
  const sums: Record<string, number> = {};
  for (const { install, headers, body } of rows) {
    sums[install] = (sums[install] ?? 0) + body.length + Buffer.byteLength(headers) + 512;
  }
  return sums;
}

describeEachDatabase('the bytes that an install has stored', (openFresh) => {
  it('are counted once when stored, by install', async () => {
    const { counted, database, storage } = await openStored(openFresh);
    const large = newDelivery('x'.repeat(200_000), { install: 'globex' });
    const odd = newDelivery('é', { headers: '{"user-agent":"é"}' });
    await appendDeliveries(storage, [...contractsStarted(3), large, odd]);
    const first = await counted();
    expect(first).toEqual(await weigh(database));
    expect(first['globex']).toBeGreaterThan(200_000);
    await appendDeliveries(storage, [...contractsStarted(3), large]);
    expect(await counted()).toEqual(first);
  });

  it('are few if the body is not kept', async () => {
    const { counted, storage } = await openStored(openFresh);
    await appendDeliveries(storage, [newDelivery(`{"type":"payout.sent","x":"${'x'.repeat(200_000)}"}`)]);
    expect((await counted())['acme']).toBeLessThan(1000);
  });

  it('shrink with purged and forgotten deliveries, down to zero', async () => {
    const { counted, settleAll, database, storage } = await openStored(openFresh);
    await appendDeliveries(storage, contractsStarted(10));
    await appendDeliveries(storage, [newDelivery('x', { install: 'globex', receivedAt: later })]);
    await settleAll();
    await deleteOld(database, later, 4);
    await removeDeliveries(storage, [5, 6, 99]);
    expect(await counted()).toEqual(await weigh(database));
    await deleteOld(database, muchLater, 100);
    expect(await counted()).toEqual({ acme: 0, globex: 0 });
  });

  it('stay the same if a delivery becomes due again before it is deleted', async () => {
    const { counted, database, storage } = await openStored(openFresh);
    await appendDeliveries(storage, contractsStarted(3));
    expect(await removeDeliveries(storage, [1, 2, 3])).toBe(0);
    expect(await counted()).toEqual(await weigh(database));
  });

  it('stay the same if nothing could be stored', async () => {
    const { counted, storage } = await openStored(openFresh);
    const bad = newDelivery('x', { receivedAt: null as never });
    await expect(appendDeliveries(storage, [...contractsStarted(1), bad])).rejects.toThrow();
    expect(await counted()).toEqual({});
  });

  it('are right while several store and delete at the same time', async () => {
    const { counted, settleAll, database, storage } = await openStored(openFresh);
    await appendDeliveries(storage, contractsStarted(40));
    await settleAll();
    const others = ['acme', 'globex', 'initech'].flatMap((install, index) =>
      contractsStarted(20, 100 + index * 100).map((delivery) => ({ ...delivery, install })),
    );
    await Promise.all([
      ...others.map((delivery) => appendDeliveries(storage, [delivery])),
      appendDeliveries(storage, others.toReversed()),
      ...[1, 11, 21, 31].map((first) => removeDeliveries(storage, [first, first + 1, first + 2])),
      deleteOld(database, later, 5),
    ]);
    expect(await counted()).toEqual(await weigh(database));
  });
});
