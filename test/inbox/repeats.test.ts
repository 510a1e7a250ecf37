import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { appendDeliveries, digestOf, toBodyKey } from '../../src/inbox/append-store.ts';
import { listDeliveries } from '../../src/inbox/delivery-list-store.ts';
import { readJson } from '../../src/inbox/event-schema.ts';
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

  it('is another delivery if only the body or only createdAt differs', async () => {
    const { append } = openInbox(await openFresh());
    const bodies = [contractStarted(1), contractStarted(2), withCreatedAt(null), withCreatedAt('2026-03-15T12:00:00Z')];
    expect(await append(...bodies.map(byDoorbell))).toEqual(bodies.map(() => 'accepted'));
    expect(await append(...bodies.map(byFeed))).toEqual(bodies.map(() => 'duplicate'));
  });

  it('ends its key with the SHA-256 of its bytes', async () => {
    const { append, list } = openInbox(await openFresh());
    await append(byDoorbell(contractStarted()));
    const [listed] = await list(1);
    expect(listed && digestOf(listed.bodySha256)).toEqual(digest(contractStarted()));
  });
});

function digest(body: string): Buffer {
  return createHash('sha256').update(body).digest();
}

function keyOf(text: string): Buffer {
  const body = Buffer.from(text);
  return toBodyKey(body, readJson(body));
}

const created = (createdAt: unknown) => JSON.stringify({ type: 'contract.started', createdAt });

// As `date` and `sha256sum` have it.
it('has not changed since deliveries were stored by it', () => {
  const body = '{"type":"contract.started","createdAt":"2026-03-15T11:59:58.000Z"}';
  expect(keyOf(body).toString('hex')).toBe(
    '019cf15e0a30fdc2b3837527b21dc374a3082e0b6cdece275cf00baa46ee306c38244ef29f1a',
  );
});

it.each([
  ['an instant', created('2026-03-15T12:00:00Z'), Date.parse('2026-03-15T12:00:00Z')],
  ['the same in another zone', created('2026-03-15T14:00:00.000+02:00'), Date.parse('2026-03-15T12:00:00Z')],
  ['the last instant there is', created('9999-12-31T23:59:59.999Z'), 253_402_300_799_999],
  ['an instant in a year of five digits', created('9999-12-31T23:59:59.999-23:59'), 0],
  ['the first millisecond', created('1970-01-01T00:00:00.001Z'), 1],
  ['a time before 1970', created('1969-12-31T23:59:59.999Z'), 0],
  ['the year 0', created('0000-01-01T00:00:00Z'), 0],
  ['no such day', created('2026-13-45T00:00:00Z'), 0],
  ['a time without a zone', created('2026-03-15T12:00:00'), 0],
  ['a huge number', created(1e300), 0],
  ['a negative number', created(-1), 0],
  ['a year of six digits', created('+275760-09-13T00:00:00Z'), 0],
  ['a long text', created('9'.repeat(100_000)), 0],
  ['an object', created({ toString: 'x' }), 0],
  ['null', created(null), 0],
  ['none', '{"type":"contract.started"}', 0],
  ['the last of two', '{"createdAt":"x","createdAt":"2026-03-15T12:00:00Z"}', Date.parse('2026-03-15T12:00:00Z')],
  ['that of another record', '{"data":{"createdAt":"2026-03-15T12:00:00Z"}}', 0],
  ['a body that is a list', '["createdAt"]', 0],
  ['a body that is null', 'null', 0],
  ['a body that is no JSON', 'createdAt', 0],
  ['an empty body', '', 0],
])('begins with when the body was created: %s', (_what, body, ms) => {
  const key = keyOf(body);
  expect(key.readUIntBE(0, 6)).toBe(ms);
  expect(digestOf(key)).toEqual(createHash('sha256').update(body).digest());
});

it('sorts by time', () => {
  const instants = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true });
  fc.assert(
    fc.property(instants, instants, (one, other) => {
      fc.pre(one < other);
      expect(Buffer.compare(keyOf(created(one)), keyOf(created(other)))).toBe(-1);
    }),
  );
});

it('exists for every body, and tells any two apart', () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), fc.oneof(fc.json(), fc.string()), (one, other) => {
      expect(keyOf(one)).toHaveLength(38);
      expect(keyOf(one).equals(keyOf(other))).toBe(one === other);
    }),
  );
});
