import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { deleteOld } from '../../../src/inbox/storage-store.ts';
import { contractStarted } from '../../support/deliveries.ts';
import { openReceiver, otherSecret, type TestReceiver } from '../../support/receiver-harness.ts';
import { describeAnyDatabase } from '../../support/tries.ts';

const kib = 1024;
const mib = 1024 * kib;
const globex = { install: 'globex', secret: otherSecret };
const rateLimited = { status: 429, body: { code: 'rate_limited', error: expect.any(String) } };

/** An event of the largest size, different for each number. */
function largest(number: number): string {
  const text = contractStarted(number);
  return text.padEnd(256 * kib - (Buffer.byteLength(text) - text.length));
}

const ended = JSON.stringify({ id: '1', type: 'contract.ended', resourceId: 'cmc-of-globex' });

async function deferralsOf({ metrics }: TestReceiver) {
  const { values } = await metrics.deferrals.get();
  return values.map(({ labels, value }) => [labels.install, labels.reason, value]);
}

describeAnyDatabase('an install that delivers faster than it may', (openFresh) => {
  it('is the only one to be answered 429, until it has waited long enough', async () => {
    const receiver = await openReceiver(await openFresh(), { limits: { deliveriesPerMinute: 6 } });
    for (let number = 0; number < 6; number += 1) {
      expect(await receiver.deliver(contractStarted(number))).toMatchObject({ status: 200 });
    }
    for (let number = 6; number < 9; number += 1) {
      const answer = await receiver.deliver(contractStarted(number));
      expect(answer).toMatchObject({ ...rateLimited, headers: { 'retry-after': '10' } });
    }
    expect((await receiver.deliver(ended, globex)).body).toEqual({ status: 'accepted' });
    receiver.clock.advance(10_000);
    expect(await receiver.deliver(contractStarted(6))).toMatchObject({ status: 200 });
    expect(await receiver.stored()).toHaveLength(8);
    expect(await deferralsOf(receiver)).toEqual([['acme', 'rate', 3]]);
    expect(receiver.log.lines()).toMatchObject([{ install: 'acme', reason: 'rate' }]);
  });

  it('is limited in bytes too', async () => {
    const receiver = await openReceiver(await openFresh(), { limits: { bytesPerMinute: mib } });
    const answers = [];
    for (let number = 0; number < 6; number += 1) {
      answers.push((await receiver.deliver(largest(number))).status);
    }
    expect(answers).toEqual([200, 200, 200, 200, 429, 429]);
  });

  it('loses none of its rate to a stranger without its secret', async () => {
    const receiver = await openReceiver(await openFresh(), { limits: { deliveriesPerMinute: 3 } });
    for (let number = 0; number < 20; number += 1) {
      const forged = await receiver.deliver(contractStarted(number), { secret: 'whsec_wrong' });
      expect(forged.status).toBe(401);
    }
    expect((await receiver.deliver(ended)).body).toEqual({ status: 'accepted' });
  });
});

describeAnyDatabase('an install that has stored as much as it may', (openFresh) => {
  it('is the only one to be answered 429, with an alert, until some of its deliveries are purged', async () => {
    const database = await openFresh();
    const receiver = await openReceiver(database, { limits: { storedBytes: mib } });
    const statuses = [];
    for (let number = 0; number < 6; number += 1) {
      statuses.push((await receiver.deliver(largest(number))).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
    expect((await receiver.deliver(ended, globex)).body).toEqual({ status: 'accepted' });
    expect(await deferralsOf(receiver)).toEqual([['acme', 'stored_bytes', 3]]);
    expect(alertsOf(receiver)).toEqual([['acme', 'storage_used_up']]);

    await purgeAll(database);
    for (let look = 0; look < 2; look += 1) {
      receiver.clock.advance(1000);
      await receiver.deliver(contractStarted(100 + look), globex);
    }
    expect(await receiver.deliver(largest(7))).toMatchObject({ status: 200 });
  });

  it('is still limited after a restart, because the database is counted', async () => {
    const database = await openFresh();
    const before = await openReceiver(database, { limits: { storedBytes: mib } });
    for (let number = 0; number < 3; number += 1) await before.deliver(largest(number));
    const after = await openReceiver(database, { limits: { storedBytes: mib } });
    expect(await after.deliver(largest(3))).toMatchObject(rateLimited);
  });
});

describe('a disk that one install floods', () => {
  describeAnyDatabase('with signed bodies of 256 KiB', (openFresh) => {
    it('is not filled, and another install can still store the end of a contract', async () => {
      // The disk holds everything that is stored four times, and nothing else.
      const diskBytes = 48 * mib;
      const database = await openFresh();
      let inboxBytes = 0;
      const receiver = await openReceiver(database, {
        limits: { reserveBytes: 32 * mib },
        freeBytes: () => diskBytes - 4 * inboxBytes,
        append: (storage) => async (deliveries) => {
          for (const { body } of deliveries) inboxBytes += body.length;
          return await appendDeliveries(storage, deliveries);
        },
      });
      const answers: number[] = [];
      for (let number = 0; number < 60; number += 1) {
        answers.push((await receiver.deliver(largest(number))).status);
        receiver.clock.advance(200);
      }
      expect(answers.slice(0, 10)).toEqual(Array(10).fill(200));
      expect(answers.slice(-10)).toEqual(Array(10).fill(429));
      expect(diskBytes - 4 * inboxBytes).toBeGreaterThanOrEqual(16 * mib);
      expect(await receiver.deliver(ended, globex)).toMatchObject({ status: 200, body: { status: 'accepted' } });
      expect(alertsOf(receiver)).toEqual([['acme', 'disk_short']]);
    });
  });
});

function alertsOf({ log }: TestReceiver) {
  return log.lines().flatMap((line) => (line['alert'] ? [[line['install'], line['alert']]] : []));
}

async function purgeAll(database: Database): Promise<void> {
  await database.kysely.updateTable('delivery').set({ nextAttemptAt: null }).execute();
  await deleteOld(database, '2099-01-01T00:00:00.000Z', 100);
}
