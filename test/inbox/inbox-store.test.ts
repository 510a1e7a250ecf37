import { expect, it } from 'vitest';
import type { Storage } from '../../src/context.ts';
import { type Database, inTransaction } from '../../src/db/database.ts';
import type { NewDelivery } from '../../src/domain/delivery.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { listDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { readerVersion } from '../../src/inbox/event-schema.ts';
import {
  dueDeliveries,
  findBody,
  findDelivery,
  openBody,
  postponeDelivery,
  replayDeliveriesIn,
  replayUnreadDeliveries,
  settleDeliveries,
} from '../../src/inbox/inbox-store.ts';
import { deleteOld } from '../../src/inbox/storage-store.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { contractStarted, contractsStarted, newDelivery, workEmail } from '../support/deliveries.ts';
import { storageOf } from '../support/storage-of.ts';

const later = '2026-03-16T00:00:00.000Z';
const muchLater = '2027-01-01T00:00:00.000Z';

interface World {
  database: Database;
  storage: Storage;
  /** Appends, and gives what each was answered. */
  append(...deliveries: NewDelivery[]): Promise<string[]>;
  ids(): Promise<number[]>;
  due(now?: string, limit?: number): Promise<number[]>;
  settle(...ids: number[]): Promise<void>;
  replay(ids: number[]): Promise<number[]>;
}

async function openWorld(openFresh: () => Promise<Database>): Promise<World> {
  const database = await openFresh();
  const storage = storageOf(database);
  const { kysely } = database;
  return {
    database,
    storage,
    async append(...deliveries) {
      const appended = await appendDeliveries(storage, deliveries);
      return appended.map(({ status }) => status);
    },
    async ids() {
      const rows = await kysely.selectFrom('delivery').select('id').orderBy('id').execute();
      return rows.map(({ id }) => id);
    },
    async due(now = muchLater, limit = 100) {
      const due = await dueDeliveries(storage, kysely, now, limit);
      return due.map(({ id }) => id);
    },
    settle: (...ids) => inTransaction(database, (tx) => settleDeliveries(tx, ids)),
    replay: (ids) => inTransaction(database, (tx) => replayDeliveriesIn(tx, ids, later)),
  };
}

describeEachDatabase('appending', (openFresh) => {
  it('stores a body once, inside one batch and across batches', async () => {
    const { append, ids } = await openWorld(openFresh);
    const [one, two] = [newDelivery(contractStarted(1)), newDelivery(contractStarted(2))];
    expect(await append(two, one, two, one)).toEqual(['accepted', 'accepted', 'duplicate', 'duplicate']);
    expect(await append(one, newDelivery(contractStarted(3)))).toEqual(['duplicate', 'accepted']);
    expect(await ids()).toHaveLength(3);
  });

  it('stores one body once for each install', async () => {
    const { append, ids } = await openWorld(openFresh);
    const body = contractStarted();
    const [ours, theirs] = [newDelivery(body), newDelivery(body, { install: 'globex' })];
    expect(await append(ours, theirs)).toEqual(['accepted', 'accepted']);
    expect(await append(theirs, ours)).toEqual(['duplicate', 'duplicate']);
    expect(await ids()).toHaveLength(2);
  });

  it('stores 256 of the largest deliveries at once', async () => {
    const { append, ids } = await openWorld(openFresh);
    const sizes = Array.from({ length: 256 }, (_, index) => 256 * 1024 - index);
    const bodies = sizes.map((size) => newDelivery(Buffer.alloc(size, 'x')));
    expect(new Set(await append(...bodies))).toEqual(new Set(['unprocessable']));
    expect(await ids()).toHaveLength(256);
  });

  it('stores nothing of a batch if one delivery cannot be stored', async () => {
    const { append, ids } = await openWorld(openFresh);
    const bad = newDelivery(contractStarted(2), { receivedAt: null as never });
    await expect(append(newDelivery(contractStarted(1)), bad)).rejects.toMatchObject({
      code: 'internal',
    });
    expect(await ids()).toEqual([]);
  });

  it('seals the body for its row, and opens it in no other', async () => {
    const { append, database, storage } = await openWorld(openFresh);
    await append(newDelivery(contractStarted(1)), newDelivery(contractStarted(2)));
    const [one, two] = await dueDeliveries(storage, database.kysely, muchLater, 2);
    if (one === undefined || two === undefined) throw new Error('two are due');
    expect(one.body.includes(workEmail)).toBe(false);
    const opened = [one, two].map((due) => openBody(storage, due).toString());
    expect(opened.toSorted()).toEqual([contractStarted(1), contractStarted(2)]);
    expect(() => openBody(storage, { ...one, body: two.body })).toThrow('Could not decrypt');
    expect(() => openBody(storage, { ...one, install: 'globex' })).toThrow('Could not decrypt');
  });
});

describeEachDatabase('a repeat', (openFresh) => {
  it('retries a failed delivery when it is repeated, of its own install only', async () => {
    const { append, due, ids, storage } = await openWorld(openFresh);
    const body = contractStarted();
    await append(newDelivery(body), newDelivery(body, { install: 'globex' }));
    for (const id of await ids()) await postponeDelivery(storage, id, 'no luck', null);
    expect(await due()).toEqual([]);
    expect(await append(newDelivery(body, { receivedAt: later }))).toEqual(['duplicate']);
    const [taken] = await due(later);
    expect(await findDelivery(storage, taken ?? 0)).toMatchObject({
      install: 'acme',
      state: 'pending',
      attempts: 0,
      failure: 'no luck',
    });
    expect(await due()).toHaveLength(1);
  });

  it('retries a failed delivery that is repeated in a batch with new ones', async () => {
    const { append, due, ids, storage } = await openWorld(openFresh);
    await append(...contractsStarted(3));
    for (const id of await ids()) await postponeDelivery(storage, id, 'no luck', null);
    const answers = await append(...contractsStarted(2), newDelivery(contractStarted(9)));
    expect(answers).toEqual(['duplicate', 'duplicate', 'accepted']);
    expect(await due()).toHaveLength(3);
  });

  it('does not retry handled, ignored, unprocessable or pending deliveries', async () => {
    const { append, due, ids, settle, storage } = await openWorld(openFresh);
    const all = [contractStarted(1), contractStarted(2), '{"type":"other"}', 'x'].map((body) => newDelivery(body));
    for (const delivery of all) await append(delivery);
    const [handled = 0, postponed = 0] = await ids();
    await settle(handled);
    await postponeDelivery(storage, postponed, 'later', later);
    await append(...all);
    expect(await due('2026-03-15T12:00:00.000Z')).toEqual([]);
    expect(await due(later)).toEqual([postponed]);
  });
});

describeEachDatabase('what is due', (openFresh) => {
  it('returns due deliveries in order, up to the limit, until they are settled', async () => {
    const { append, due, settle } = await openWorld(openFresh);
    const times = ['12:00:03', '12:00:01', '12:00:02', '12:00:01'];
    for (const [index, time] of times.entries()) {
      const receivedAt = `2026-03-15T${time}.000Z`;
      await append(newDelivery(contractStarted(index), { receivedAt }));
    }
    expect(await due()).toEqual([1, 2, 3, 4]);
    expect(await due(muchLater, 2)).toEqual([1, 2]);
    expect(await due('2026-03-15T12:00:02.000Z')).toEqual([2, 3, 4]);
    expect(await due('2026-03-15T12:00:00.999Z')).toEqual([]);
    await settle(2, 3);
    expect(await due()).toEqual([1, 4]);
  });

  it('waits for its time once postponed, and for ever once given up', async () => {
    const { append, due, storage } = await openWorld(openFresh);
    await append(newDelivery(contractStarted()));
    await postponeDelivery(storage, 1, 'no answer', later);
    await postponeDelivery(storage, 1, 'no answer', later);
    expect(await due('2026-03-15T23:59:59.999Z')).toEqual([]);
    expect(await due(later)).toEqual([1]);
    expect(await findDelivery(storage, 1)).toMatchObject({ state: 'pending', attempts: 2 });
    await postponeDelivery(storage, 1, 'given up', null);
    expect(await due()).toEqual([]);
    expect(await findDelivery(storage, 1)).toMatchObject({ state: 'failed', failure: 'given up' });
  });

  it('is settled in the transaction, or not at all', async () => {
    const { append, due, database } = await openWorld(openFresh);
    await append(...contractsStarted(2));
    const settling = inTransaction(database, async (tx) => {
      await settleDeliveries(tx, [1, 2]);
      throw new Error('something else failed');
    });
    await expect(settling).rejects.toThrow('something else failed');
    expect(await due()).toEqual([1, 2]);
  });

  it('has replayed deliveries of any state', async () => {
    const { append, due, settle, replay, storage } = await openWorld(openFresh);
    for (const body of [contractStarted(1), contractStarted(2), 'x']) {
      await append(newDelivery(body));
    }
    await settle(1);
    await postponeDelivery(storage, 2, 'given up', null);
    expect(await replay([1, 2, 3, 99])).toEqual([1, 2, 3]);
    expect(await due(later)).toEqual([1, 2, 3]);
    expect(await findDelivery(storage, 2)).toMatchObject({ state: 'pending', attempts: 0, failure: null });
    expect(await replay([])).toEqual([]);
  });

  it('has deliveries that an older version could not read, once replayed', async () => {
    const { append, due, database, storage } = await openWorld(openFresh);
    for (const body of ['old', 'new', contractStarted()]) await append(newDelivery(body));
    expect(await replayUnreadDeliveries(storage, later)).toBe(0);
    const older = { readerVersion: readerVersion - 1 };
    await database.kysely.updateTable('delivery').set(older).where('id', 'in', [1, 3]).execute();
    expect(await replayUnreadDeliveries(storage, later)).toBe(1);
    expect(await due(later)).toEqual([1, 3]);
  });
});

describeEachDatabase('a body of a type that nothing uses', (openFresh) => {
  const unused = newDelivery('{"type":"payout.sent","note":"x"}', { deliveryId: 'd-1' });

  it('is not kept, and is a duplicate when it comes again', async () => {
    const { append, database, storage } = await openWorld(openFresh);
    expect(await append(unused)).toEqual(['ignored']);
    expect(await append(unused)).toEqual(['duplicate']);
    const rows = await database.kysely.selectFrom('delivery').selectAll().execute();
    expect(rows).toMatchObject([
      { state: 'ignored', eventType: 'payout.sent', deliveryId: 'd-1', headers: unused.headers },
    ]);
    expect(rows.map(({ body }) => body.length)).toEqual([0]);
    const notKept = { code: 'not_found', message: expect.stringContaining('was not kept') };
    await expect(findBody(storage, 1)).rejects.toMatchObject(notKept);
  });

  it('is not replayed without its body', async () => {
    const { append, due, replay, database } = await openWorld(openFresh);
    await append(unused, newDelivery('x'));
    const [ignored] = await listDeliveries(database.kysely, { state: 'ignored', limit: 1 });
    expect(await replay([ignored?.id ?? 0])).toEqual([]);
    expect(await due(later)).toEqual([]);
    expect(await replay([1, 2])).toHaveLength(1);
  });
});

describeEachDatabase('purging', (openFresh) => {
  it('deletes old settled deliveries in chunks until none is left', async () => {
    const { append, ids, settle, database } = await openWorld(openFresh);
    await append(...contractsStarted(5));
    await append(newDelivery('x'), newDelivery(contractStarted(9), { receivedAt: later }));
    await settle(...(await ids()));
    expect(await deleteOld(database, later, 4)).toBe(4);
    expect(await deleteOld(database, later, 4)).toBe(2);
    expect(await deleteOld(database, later, 4)).toBe(0);
    expect(await ids()).toHaveLength(1);
    expect(await deleteOld(database, muchLater, 4)).toBe(1);
    expect(await ids()).toEqual([]);
  });

  it('skips old deliveries that are not handled yet', async () => {
    const { append, ids, settle, database } = await openWorld(openFresh);
    await append(...contractsStarted(10));
    await settle(9, 10);
    const purged = [];
    for (let round = 0; round < 3; round += 1) purged.push(await deleteOld(database, later, 3));
    expect(purged).toEqual([1, 1, 0]);
    expect(await ids()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('treats a body as new that is repeated after its purge', async () => {
    const { append, settle, database } = await openWorld(openFresh);
    await append(newDelivery(contractStarted()));
    await settle(1);
    await deleteOld(database, later, 10);
    expect(await append(newDelivery(contractStarted()))).toEqual(['accepted']);
  });
});

describeEachDatabase('looking at deliveries', (openFresh) => {
  it('lists them without their bodies', async () => {
    const { append, database } = await openWorld(openFresh);
    await append(newDelivery('x', { deliveryId: 'd-1' }));
    const [unprocessable] = await listDeliveries(database.kysely, { limit: 1 });
    expect(unprocessable).toMatchObject({
      id: 1,
      install: 'acme',
      deliveryId: 'd-1',
      eventType: null,
      receivedAt: '2026-03-15T12:00:00.000Z',
      attempts: 0,
      failure: 'the body is not JSON in UTF-8',
    });
    expect(unprocessable).not.toHaveProperty('body');
  });

  it('finds one by its number', async () => {
    const { append, storage } = await openWorld(openFresh);
    await append(newDelivery(contractStarted()));
    expect(await findDelivery(storage, 1)).toMatchObject({ id: 1, eventType: 'contract.started' });
    expect(await findDelivery(storage, 2)).toBeUndefined();
  });
});
