import { sql } from 'kysely';
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/db/database.ts';
import { type DeliveryState, deliveryStates } from '../../src/domain/delivery.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import {
  countAll,
  countDeliveries,
  type DeliveryFilter,
  listDeliveries,
  listDeliveryIds,
} from '../../src/inbox/delivery-list-store.ts';
import { describeEachDatabase } from '../support/databases.ts';
import { newDelivery } from '../support/deliveries.ts';
import { storageOf } from '../support/storage-of.ts';
import { describeAnyDatabase } from '../support/tries.ts';

const begin = Date.parse('2026-03-15T12:00:00.000Z');
const minuteMs = 60_000;
const [installs, types] = [
  ['acme', 'beta', 'gamma'],
  ['contract.started', 'contract.ended', 'payout.sent'],
];

interface Known {
  id: number;
  install: string;
  eventType: string | null;
  receivedAt: string;
  state: DeliveryState;
}

describeEachDatabase('lists of deliveries', (openFresh) => {
  let database: Database;
  let all: Known[];

  /** Every state, type and install with every other, some minutes apart, and two of each minute in the wrong order. */
  beforeEach(async () => {
    database = await openFresh();
    const { kysely } = database;
    for (let index = 0; index < 240; index += 1) await kysely.insertInto('delivery').values(toRow(index)).execute();
    const columns = ['id', 'install', 'eventType', 'receivedAt', 'state'] as const;
    all = await kysely.selectFrom('delivery').select(columns).orderBy('id', 'desc').execute();
  });

  function expectedOf({ install, state, type, since, until, before, limit }: DeliveryFilter): number[] {
    const fits = (one: Known) =>
      (install === undefined || one.install === install) &&
      (state === undefined || one.state === state) &&
      (type === undefined || one.eventType === type) &&
      (since === undefined || one.receivedAt >= since) &&
      (until === undefined || one.receivedAt <= until) &&
      (before === undefined || one.id < before);
    return all
      .filter(fits)
      .map(({ id }) => id)
      .slice(0, limit);
  }

  it('are exactly the deliveries that every filter matches, the newest first', async () => {
    const at = (minutes: number) => new Date(begin + minutes * minuteMs).toISOString();
    const middle = all[120]?.id;
    const times = [{}, { since: at(70) }, { until: at(70) }, { since: at(30), until: at(200) }, { until: at(-5) }];
    const states = [undefined, ...deliveryStates];
    const filters = times
      .flatMap((time) => states.map((state) => ({ ...time, state, limit: 10 })))
      .flatMap((filter) => [undefined, 'beta', 'none'].map((install) => ({ ...filter, install })))
      .flatMap((filter) => [undefined, 'contract.ended'].map((type) => ({ ...filter, type })))
      .flatMap((filter): DeliveryFilter[] => [undefined, middle].map((before) => ({ ...filter, before })));
    for (const filter of filters) {
      const ids = await listDeliveryIds(database.kysely, filter);
      expect([filter, ids]).toEqual([filter, expectedOf(filter)]);
    }
  });

  it('are the same rows as the list of their ids', async () => {
    for (const state of deliveryStates) {
      const filter = { state, type: 'contract.started', limit: 7 };
      const listed = await listDeliveries(database.kysely, filter);
      expect(listed.map(({ id }) => id)).toEqual(expectedOf(filter));
      expect(new Set(listed.map((one) => one.state))).toEqual(new Set([state]));
    }
    const subjects = ['subject-3', 'subject-5'];
    const about = await listDeliveries(database.kysely, { state: 'pending', subjects, limit: 1000 });
    expect(about.length).toBeGreaterThan(0);
    expect(about.every(({ state, subjectId }) => state === 'pending' && subjects.includes(subjectId ?? ''))).toBe(true);
    expect(await listDeliveryIds(database.kysely, { subjects: [], limit: 10 })).toEqual([]);
  });
});

function toRow(index: number) {
  const state = deliveryStates[index % deliveryStates.length] ?? 'handled';
  const isTrouble = state === 'failed' || state === 'unprocessable';
  const minute = index % 2 === 0 ? index + 1 : index - 1;
  const receivedAt = new Date(begin + minute * minuteMs).toISOString();
  return {
    install: installs[index % 3] ?? '',
    bodySha256: Buffer.from([index]),
    deliveryId: null,
    eventType: types[Math.floor(index / 3) % 3] ?? null,
    subjectId: `subject-${index % 7}`,
    receivedAt,
    state,
    nextAttemptAt: state === 'pending' ? receivedAt : null,
    failure: isTrouble || index % 20 === 0 ? 'it failed' : null,
    readerVersion: 1,
    headers: '{}',
    body: Buffer.alloc(0),
  };
}

const at = (minute: number) => new Date(Date.UTC(2026, 2, 15, 12, minute)).toISOString();
const states = ['handled', 'pending', 'ignored', 'failed', 'unprocessable'] as const;
const rows = states.map((state) => ({
  state,
  failure: ['failed', 'unprocessable'].includes(state) ? 'why' : null,
  nextAttemptAt: state === 'pending' ? at(0) : null,
}));

describeAnyDatabase('the counts of deliveries', (openFresh) => {
  it('are by install and state, since an instant', async () => {
    const database = await openFresh();
    const { kysely } = database;
    const bodies = Array.from({ length: 40 }, (_, index) => index);
    await appendDeliveries(
      storageOf(database),
      bodies.map((n) => newDelivery(`${n}`, { install: n % 2 === 0 ? 'acme' : 'globex' })),
    );
    const stored = await kysely.selectFrom('delivery').select('id').orderBy('id').execute();
    for (const [index, { id }] of stored.entries()) {
      const row = { ...rows[index % rows.length], receivedAt: at(index), install: index < 20 ? 'acme' : 'globex' };
      await kysely.updateTable('delivery').set(row).where('id', '=', id).execute();
    }
    const shown = async (since: string) =>
      (await countDeliveries(kysely, since)).map(({ install, state, count }) => `${install} ${state} ${count}`);
    const sorted = [...states].sort();
    expect(await shown(at(0))).toEqual(
      ['acme', 'globex'].flatMap((install) => sorted.map((one) => `${install} ${one} 4`)),
    );
    expect(await shown(at(12))).toEqual([
      'acme failed 2',
      'acme handled 1',
      'acme ignored 2',
      'acme pending 1',
      'acme unprocessable 2',
      ...sorted.map((one) => `globex ${one} 4`),
    ]);
    expect(await shown(at(38))).toEqual(['globex failed 1', 'globex unprocessable 1']);
    expect(await shown(at(60))).toEqual([]);
  });

  it('need no delivery itself: the index of installs is enough', async () => {
    const { dialect, kysely } = await openFresh();
    const plan = await kysely.transaction().execute(async (tx) => {
      if (dialect === 'sqlite') return await sql`explain query plan ${countAll(1)}`.execute(tx);
      // Tables that are empty are read whole, unless that is forbidden as far as there is an index.
      await sql`set local enable_seqscan = off`.execute(tx);
      await sql`set local enable_bitmapscan = off`.execute(tx);
      return await sql`explain ${countAll(1)}`.execute(tx);
    });
    const lines = plan.rows.map((row) => JSON.stringify(row)).filter((line) => /delivery/.test(line));
    expect(lines).not.toEqual([]);
    expect(
      lines.filter((line) => !/COVERING INDEX delivery_by_install|Index Only Scan.*delivery_by_install/.test(line)),
    ).toEqual([]);
  });
});
