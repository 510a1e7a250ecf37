import { createHash, randomBytes } from 'node:crypto';
import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type Database, inTransaction } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { bodyContext } from '../../src/db/seal-contexts.ts';
import { digestOf } from '../../src/inbox/body-key.ts';
import { createInboxStore } from '../../src/inbox/inbox-store.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { describeEachDatabase, describeEachDialect, openForTest } from '../support/databases.ts';
import { contractStarted, newDelivery } from '../support/deliveries.ts';
import { migrateOnly } from '../support/migrate-only.ts';

const box = createSecretBox(randomBytes(32));
const later = '2026-03-16T00:00:00.000Z';

const byDoorbell = (body: string) => newDelivery(body, { deliveryId: 'd-1' });
const byFeed = (body: string) => newDelivery(body, { headers: '{}', receivedAt: later });

function openInbox(database: Database) {
  const store = createInboxStore(database, box);
  return {
    store,
    append: async (...deliveries: ReturnType<typeof newDelivery>[]) =>
      (await store.append(deliveries)).map(({ status }) => status),
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
      const { append, store } = openInbox(await openFresh());
      const answers = [];
      for (const way of [...ways, ...ways]) answers.push(...(await append(way(body))));
      expect(answers.slice(1)).toEqual(['duplicate', 'duplicate', 'duplicate']);
      expect(answers[0]).not.toBe('duplicate');
      expect(await store.list({ limit: 9 })).toHaveLength(1);
    }
  });

  it('is another one where only the body differs, or only createdAt', async () => {
    const { append } = openInbox(await openFresh());
    const bodies = [contractStarted(1), contractStarted(2), withCreatedAt(null), withCreatedAt('2026-03-15T12:00:00Z')];
    expect(await append(...bodies.map(byDoorbell))).toEqual(bodies.map(() => 'accepted'));
    expect(await append(...bodies.map(byFeed))).toEqual(bodies.map(() => 'duplicate'));
  });

  it('has the SHA-256 of its bytes at the end of its key', async () => {
    const { append, store } = openInbox(await openFresh());
    await append(byDoorbell(contractStarted()));
    const [listed] = await store.list({ limit: 1 });
    expect(listed && digestOf(listed.bodySha256)).toEqual(digest(contractStarted()));
  });
});

describeEachDialect('what was stored before keys began with a time', ({ createEmpty }) => {
  /** As the version before stored it. */
  async function storeOld(
    { kysely }: Database,
    install: string,
    body: string,
    state: 'failed' | 'handled' | 'ignored',
  ) {
    const bodySha256 = digest(body);
    const sealed = box.seal(Buffer.from(body), bodyContext({ install, bodySha256 }));
    const row = { install, bodySha256, state, receivedAt: '2026-03-15T12:00:00.000Z', readerVersion: 1, headers: '{}' };
    const kept = state === 'ignored' ? Buffer.alloc(0) : sealed;
    await kysely
      .insertInto('delivery')
      .values({ ...row, body: kept })
      .execute();
  }

  async function openUpgraded() {
    const database = openForTest(await createEmpty());
    await migrateOnly(database, before);
    await storeOld(database, 'acme', contractStarted(1), 'handled');
    await storeOld(database, 'acme', contractStarted(2), 'failed');
    await storeOld(database, 'acme', '{"type":"payout.sent"}', 'ignored');
    expect(await migrate(database)).toContain('0033-body-key');
    return { database, ...openInbox(database) };
  }

  it('is known again, of its own install, alone and beside new ones', async () => {
    const { append, store } = await openUpgraded();
    expect(await append(byFeed(contractStarted(1)))).toEqual(['duplicate']);
    const mixed = [contractStarted(3), contractStarted(1), '{"type":"payout.sent"}', contractStarted(4)];
    expect(await append(...mixed.map(byDoorbell))).toEqual(['accepted', 'duplicate', 'duplicate', 'accepted']);
    expect(await append(...mixed.map(byFeed))).toEqual(mixed.map(() => 'duplicate'));
    const theirs = newDelivery(contractStarted(1), { install: 'globex' });
    expect(await append(theirs, theirs)).toEqual(['accepted', 'duplicate']);
    expect(await store.list({ limit: 9 })).toHaveLength(6);
  });

  it('is taken up again by a repeat if it had failed, and opens', async () => {
    const { append, store, database } = await openUpgraded();
    expect(await append(byDoorbell(contractStarted(2)))).toEqual(['duplicate']);
    const [due] = await store.due(database.kysely, later, 9);
    expect(due && store.openBody(due).toString()).toBe(contractStarted(2));
  });

  it('is new when it comes after it was purged, and then known by its new key', async () => {
    const { append, store, database } = await openUpgraded();
    await inTransaction(database, (tx) => store.settle(tx, [2]));
    expect(await store.purge(later, 10)).toBe(3);
    expect(await append(byDoorbell(contractStarted(1)))).toEqual(['accepted']);
    expect(await append(byFeed(contractStarted(1)))).toEqual(['duplicate']);
  });
});

/** What the version before knew. */
const before = globSync('migrations/*.ts')
  .map((file) => path.basename(file, '.ts'))
  .filter((name) => name < '0033');

function digest(body: string): Buffer {
  return createHash('sha256').update(body).digest();
}
