import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/db/database.ts';
import { AppError } from '../../../src/domain/errors.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { createThreadedAppend } from '../../../src/inbox/inbox.ts';
import { openForTest, postgres, sqlite } from '../../support/databases.ts';
import { contractStarted, workEmail } from '../../support/deliveries.ts';
import {
  acmeSecret,
  openReceiver,
  otherSecret,
  retiredSecret,
  type TestReceiver,
} from '../../support/receiver-harness.ts';
import { describeAnyDatabase } from '../../support/tries.ts';
import { until } from '../../support/until.ts';

describeAnyDatabase('a delivery', (openFresh) => {
  it('is accepted once and then a duplicate, whatever its delivery id', async () => {
    const receiver = await openReceiver(await openFresh());
    const answers = [];
    for (const id of ['d-1', 'd-1', 'd-2', '']) {
      answers.push(await receiver.deliver(contractStarted(), withId(id)));
    }
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, { status: 'accepted' }],
      [200, { status: 'duplicate' }],
      [200, { status: 'duplicate' }],
      [200, { status: 'duplicate' }],
    ]);
    expect(await receiver.stored()).toHaveLength(1);
  });

  it('with a known delivery id and another body is accepted, and counted', async () => {
    const receiver = await openReceiver(await openFresh());
    await receiver.deliver(contractStarted(1), withId('d-1'));
    const answer = await receiver.deliver(contractStarted(2), withId('d-1'));
    expect(answer).toMatchObject({ status: 200, body: { status: 'accepted' } });
    expect(await receiver.stored()).toHaveLength(2);
    const { values } = await receiver.metrics.reusedDeliveryIds.get();
    expect(values).toEqual([expect.objectContaining({ labels: { install: 'acme' }, value: 1 })]);
  });

  it('is not a duplicate of the same body for another install', async () => {
    const receiver = await openReceiver(await openFresh());
    const body = contractStarted();
    await receiver.deliver(body, withId('d-1'));
    const other = { install: 'globex', secret: otherSecret, ...withId('d-1') };
    expect((await receiver.deliver(body, other)).body).toEqual({ status: 'accepted' });
    const { values } = await receiver.metrics.reusedDeliveryIds.get();
    expect(values).toEqual([]);
  });

  it('of an unused event type is ignored, and stored without its body', async () => {
    const receiver = await openReceiver(await openFresh());
    const answer = await receiver.deliver('{"type":"freelancer.renamed","resourceId":"x"}');
    expect(answer).toMatchObject({ status: 200, body: { status: 'ignored' } });
    expect(await receiver.stored()).toMatchObject([{ state: 'ignored', body: Buffer.alloc(0) }]);
  });

  it('that is signed but not an event is stored as unprocessable', async () => {
    const receiver = await openReceiver(await openFresh());
    expect(await answersTo(receiver, notEvents)).toEqual(
      notEvents.map(([name]) => [name, 200, { status: 'unprocessable' }]),
    );
    const stored = await receiver.stored();
    expect(stored.map(({ body }) => body)).toEqual(notEvents.map(([, body]) => Buffer.from(body)));
    expect(new Set(stored.map(({ state }) => state))).toEqual(new Set(['unprocessable']));
  });

  it('that is an event is accepted, however odd its other fields', async () => {
    const receiver = await openReceiver(await openFresh());
    expect(await answersTo(receiver, oddEvents)).toEqual(
      oddEvents.map(([name]) => [name, 200, { status: 'accepted' }]),
    );
  });

  it('is stored byte for byte, with only the headers that matter', async () => {
    const receiver = await openReceiver(await openFresh());
    const body = Buffer.concat([
      Buffer.from(`\uFEFF \r\n${contractStarted()}\n`),
      Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
    ]);
    const signature = receiver.signatureOf(body);
    await receiver.deliver(body, {
      headers: {
        'x-opentrain-delivery': 'd-é',
        'x-opentrain-event': 'contract.started',
        'user-agent': `OpenTrain/${'9'.repeat(600)}`,
        cookie: 'session=1',
        'x-forwarded-for': '203.0.113.7',
      },
    });
    expect(await receiver.stored()).toEqual([
      {
        install: 'acme',
        state: 'unprocessable',
        deliveryId: 'd-é',
        body,
        headers: {
          'content-type': 'application/json',
          'user-agent': `OpenTrain/${'9'.repeat(490)}`,
          'x-opentrain-delivery': 'd-é',
          'x-opentrain-event': 'contract.started',
          'x-opentrain-signature': signature,
        },
      },
    ]);
  });

  it('is accepted under either header prefix, and under both if they agree, which was answered 401', async () => {
    const receiver = await openReceiver(await openFresh());
    const { url, signatureOf } = receiver;
    const send = (body: string, names: string[], signature = signatureOf(body)) =>
      fetch(`${url}/webhooks/acme`, {
        method: 'POST',
        body,
        headers: [
          ['content-type', 'application/json'],
          ...names.map((name): [string, string] => [name, names[0] === name ? signature : signatureOf(body)]),
          ['X-Service-Delivery', 'd-1'],
        ],
      });
    expect((await send(contractStarted(1), ['X-Service-Signature'])).status).toBe(200);
    expect((await send(contractStarted(2), ['X-OPENTRAIN-SIGNATURE'])).status).toBe(200);
    expect((await send(contractStarted(3), ['X-Other-Signature'])).status).toBe(401);
    const both = ['X-Service-Signature', 'X-OpenTrain-Signature'];
    expect((await send(contractStarted(4), both)).status).toBe(200);
    expect((await send(contractStarted(5), both, signatureOf(contractStarted(6)))).status).toBe(401);
    const stored = await receiver.stored();
    expect(stored.map(({ deliveryId }) => deliveryId)).toEqual(['d-1', 'd-1', 'd-1']);
  });

  it('signed with a retired secret that is still listed is accepted', async () => {
    const receiver = await openReceiver(await openFresh());
    const answer = await receiver.deliver(contractStarted(), { secret: retiredSecret });
    expect(answer.body).toEqual({ status: 'accepted' });
  });

  it.each([
    ['known', 'acme'],
    ['just connected', 'initech'],
  ])('signed with a secret that another process has just stored is accepted (install %s)', async (_, install) => {
    const stored = 'whsec_bWFkZS1ieS1hLWNvbW1hbmQ';
    let loads = 0;
    const receiver = await openReceiver(await openFresh(), {
      loadInstalls(secrets) {
        loads += 1;
        if (loads === 2) secrets.set(install, [stored]);
      },
    });
    const deliver = async () => (await receiver.deliver(contractStarted(), { install, secret: stored })).status;
    expect(await deliver()).toBe(401);
    expect(await deliver()).toBe(200);
    expect(await receiver.stored()).toHaveLength(1);
  });

  it('is answered the same whether sent one by one or 300 at once', async () => {
    const receiver = await openReceiver(await openFresh());
    const bodies = Array.from({ length: 150 }, (_, index) => contractStarted(index));
    const answers = await Promise.all([...bodies, ...bodies].map((body) => receiver.deliver(body)));
    const statuses = Object.groupBy(answers, ({ body }) => (body as { status: string }).status);
    expect(statuses['accepted']).toHaveLength(150);
    expect(statuses['duplicate']).toHaveLength(150);
    expect(await receiver.stored()).toHaveLength(150);
  });

  it('that the database refuses is answered 500, and the others in its group are stored', async () => {
    const database = await openFresh();
    await refuseDeliveryId(database, 'd-7');
    const groups: number[] = [];
    const { promise: allHandedOver, resolve: open } = Promise.withResolvers<void>();
    const receiver = await openReceiver(database, {
      append: (storage) => async (deliveries) => {
        groups.push(deliveries.length);
        await allHandedOver;
        return await appendDeliveries(storage, deliveries);
      },
    });
    const answering = Array.from({ length: 20 }, (_, number) =>
      receiver.deliver(contractStarted(number), withId(`d-${number}`)),
    );
    await until('all reach the inbox', receiver.handedOver, (count) => count === 20);
    open();
    const answers = await Promise.all(answering);
    expect(answers.map(({ status }) => status)).toEqual(
      Array.from({ length: 20 }, (_, number) => (number === 7 ? 500 : 200)),
    );
    expect(answers[7]?.body).toEqual({
      error: 'The request could not be handled now',
      code: 'internal',
    });
    expect(await receiver.stored()).toHaveLength(19);
    expect(groups.slice(0, 3)).toEqual([1, 1, 18]);
    expect(receiver.log.lines().filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('a receiver that cannot store', () => {
  it('answers 503 without details while the SQLite disk is full, and 200 afterwards', async () => {
    const database = openForTest(await sqlite.createMigrated());
    const receiver = await openReceiver(database);
    await sql`pragma max_page_count = 1`.execute(database.kysely);
    const big = contractStarted().padEnd(50_000);
    expect(await receiver.deliver(big)).toMatchObject(unavailable);
    await sql`pragma max_page_count = 100000`.execute(database.kysely);
    expect((await receiver.deliver(big)).body).toEqual({ status: 'accepted' });
  });

  it('answers 503 without details while PostgreSQL refuses connections, and 200 afterwards', async () => {
    const url = await postgres.createMigrated();
    const receiver = await openReceiver(openForTest(url));
    const name = url.slice(url.lastIndexOf('/') + 1);
    const admin = openForTest(url.replace(name, 'postgres'));
    await sql.raw(`alter database ${name} allow_connections false`).execute(admin.kysely);
    expect(await receiver.deliver(contractStarted())).toMatchObject(unavailable);
    await sql.raw(`alter database ${name} allow_connections true`).execute(admin.kysely);
    expect((await receiver.deliver(contractStarted())).body).toEqual({ status: 'accepted' });
  });

  it('stores nothing that it answered with 503', async () => {
    const database = openForTest(await sqlite.createMigrated());
    const receiver = await openReceiver(database, {
      append: () => () => Promise.reject(new AppError('unavailable', 'The disk said something')),
    });
    const answers = await Promise.all([1, 2, 3].map((number) => receiver.deliver(contractStarted(number))));
    for (const answer of answers) expect(answer).toMatchObject(unavailable);
    expect(await receiver.stored()).toEqual([]);
  });
});

describe('a receiver that stores in a thread', () => {
  it('answers, and stores no address, secret or body in plain text', async () => {
    const database = openForTest(await sqlite.createMigrated());
    let close = async (): Promise<void> => undefined;
    const receiver = await openReceiver(database, {
      append: (_, key) => {
        const threaded = createThreadedAppend({ url: database.url, key });
        close = threaded.close;
        return threaded.append;
      },
    });
    const answer = await receiver.deliver(contractStarted());
    await close();
    expect(answer.body).toEqual({ status: 'accepted' });
    expect(await receiver.stored()).toMatchObject([{ body: Buffer.from(contractStarted()) }]);
    const folder = path.dirname(database.url.slice('sqlite:'.length));
    const files = readdirSync(folder).map((file) => readFileSync(path.join(folder, file)));
    const bytes = Buffer.concat(files);
    expect(bytes.includes('contract.started')).toBe(true);
    for (const absent of [workEmail, 'amara', acmeSecret, 'Runde 2', 'street-signs']) {
      expect(bytes.includes(absent)).toBe(false);
    }
  });
});

type NamedBody = readonly [name: string, body: string | Uint8Array];

const notEvents: NamedBody[] = [
  ['no JSON', 'hello'],
  ['truncated JSON', contractStarted().slice(0, -20)],
  ['nothing', ''],
  ['null', 'null'],
  ['an array', '[]'],
  ['an array of events', `[${contractStarted()}]`],
  ['a number as type', '{"type":7,"resourceId":"x"}'],
  ['an event without a resource', '{"type":"contract.started"}'],
  ['100,000 brackets', '['.repeat(100_000)],
  ['100,000 nested arrays', nested('[', 100_000, ']')],
  ['a NUL byte', '{"type":"contract.started\0"}'],
  ['an escaped NUL', '{"type":"\\u0000","resourceId":"x"}'],
  ['invalid UTF-8', Buffer.from('{"type":"contract.started","resourceId":"\xff\xfe"}', 'latin1')],
  ['a lone surrogate for a resource', '{"type":"contract.started","resourceId":"\\ud800"}'],
];

const oddEvents: NamedBody[] = [
  ['deeply nested data', `{"type":"contract.ended","resourceId":"c","data":${nested('{"a":', 20_000, '}')}}`],
  ['a prototype', '{"__proto__":{"type":"x"},"constructor":1,"type":"contract.ended","resourceId":"c"}'],
  ['NUL in a name', '{"type":"contract.ended","resourceId":"c","data":{"contract":{"id":"c","title":"a\\u0000b"}}}'],
  [
    'lone surrogates in a name',
    '{"type":"contract.ended","resourceId":"c","data":{"contract":{"id":"c","title":"\\ud800"}}}',
  ],
];

/** Nested to a depth, with a 1 in the middle. */
function nested(open: string, depth: number, close: string): string {
  return `${open.repeat(depth)}1${close.repeat(depth)}`;
}

async function answersTo(receiver: TestReceiver, bodies: NamedBody[]) {
  const answers = [];
  for (const [name, body] of bodies) {
    const answer = await receiver.deliver(body);
    answers.push([name, answer.status, answer.body]);
  }
  return answers;
}

const unavailable = {
  status: 503,
  body: { error: 'The request could not be handled now', code: 'unavailable' },
};

function withId(id: string) {
  return { headers: { 'x-opentrain-delivery': id } };
}

/** Makes the database refuse one row, which no known input does. */
async function refuseDeliveryId({ dialect, kysely }: Database, id: string): Promise<void> {
  const statements = {
    sqlite: `create trigger refuse before insert on delivery when new.delivery_id = '${id}'
      begin select raise(abort, 'refused'); end`,
    postgres: `alter table delivery add constraint refuse check (delivery_id <> '${id}')`,
  };
  await sql.raw(statements[dialect]).execute(kysely);
}
