import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { appendDeliveries, digestOf } from '../../src/inbox/append-store.ts';
import { listDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { contractStarted, newDelivery } from '../support/deliveries.ts';
import { storageOf } from '../support/storage-of.ts';

const later = '2026-03-16T00:00:00.000Z';

const byDoorbell = (body: string) => newDelivery(body, { deliveryId: 'd-1' });
const byFeed = (body: string) => newDelivery(body, { headers: '{}', receivedAt: later });

function openInbox(database: Database) {
  const storage = storageOf(database);
  return {
    list: (limit: number) => listDeliveries(database.kysely, { limit }),
    append: async (...deliveries: ReturnType<typeof newDelivery>[]) =>
      (await appendDeliveries(storage, deliveries)).map(({ status }) => status),
  };
}

const started = JSON.parse(contractStarted()) as Record<string, unknown>;
const withCreatedAt = (createdAt: unknown) => JSON.stringify({ ...started, createdAt });

describeEachDatabase('a body that comes twice', (openFresh) => {
  it.each([
    ['as the marketplace sends it', contractStarted()],
    ['without createdAt', withCreatedAt(undefined)],
    ['with a createdAt that is no instant', withCreatedAt('yesterday')],
    ['with a huge createdAt', withCreatedAt(1e300)],
    ['with a createdAt far ahead', withCreatedAt('9999-12-31T23:59:59Z')],
    ['with a createdAt before 1970', withCreatedAt('0001-01-01T00:00:00Z')],
    ['that is no event', 'x'],
    ['of a type that nothing uses', '{"type":"payout.sent","createdAt":"2026-03-15T12:00:00Z"}'],
  ])('is stored once, %s, whichever way it comes first', async (_what, body) => {
    for (const ways of [
      [byDoorbell, byFeed],
      [byFeed, byDoorbell],
    ]) {
      const { append, list } = openInbox(await openFresh());
      const answers = [];
      for (const way of [...ways, ...ways]) answers.push(...(await append(way(body))));
      expect(answers.slice(1)).toEqual(['duplicate', 'duplicate', 'duplicate']);
      expect(answers[0]).not.toBe('duplicate');
      expect(await list(9)).toHaveLength(1);
    }
  });

  it('is another one where only the body differs, or only createdAt', async () => {
    const { append } = openInbox(await openFresh());
    const bodies = [contractStarted(1), contractStarted(2), withCreatedAt(null), withCreatedAt('2026-03-15T12:00:00Z')];
    expect(await append(...bodies.map(byDoorbell))).toEqual(bodies.map(() => 'accepted'));
    expect(await append(...bodies.map(byFeed))).toEqual(bodies.map(() => 'duplicate'));
  });

  it('has the SHA-256 of its bytes at the end of its key', async () => {
    const { append, list } = openInbox(await openFresh());
    await append(byDoorbell(contractStarted()));
    const [listed] = await list(1);
    expect(listed && digestOf(listed.bodySha256)).toEqual(digest(contractStarted()));
  });
});

function digest(body: string): Buffer {
  return createHash('sha256').update(body).digest();
}
