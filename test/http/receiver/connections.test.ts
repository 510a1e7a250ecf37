import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import request from 'supertest';
import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/domain/errors.ts';
import { appendDeliveries } from '../../../src/inbox/append-store.ts';
import { createHttpServer } from '../../../src/lib/http-server.ts';
import { openForTest, sqlite } from '../../support/databases.ts';
import { contractStarted } from '../../support/deliveries.ts';
import { exchange, openSocket, requestHead, statusOf } from '../../support/raw-http.ts';
import { openReceiver, type TestReceiver } from '../../support/receiver-harness.ts';
import { until } from '../../support/until.ts';

const body = contractStarted();
const half = Math.floor(body.length / 2);

describe('a connection', () => {
  let receiver: TestReceiver;

  beforeEach(async () => {
    const database = openForTest(await sqlite.createMigrated());
    receiver = await openReceiver(database, { requestTimeoutMs: 200 });
  });

  it.each([
    ['sends nothing after its headers', () => headOf(receiver)],
    ['stops half-way through its body', () => `${headOf(receiver)}${body.slice(0, half)}`],
    ['never ends its headers', () => headOf(receiver).slice(0, -2)],
    ['never ends its chunks', () => `${headOf(receiver, { 'Transfer-Encoding': 'chunked' })}5\r\n{"a":\r\n`],
  ])('that %s is answered 408 and closed', async (_, send) => {
    expect(statusOf(await exchange(receiver.port, send()))).toBe(408);
    await expectAlive();
  });

  it('that drips its body is answered 408 and closed, although it is active', async () => {
    const socket = await openSocket(receiver.port);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    // A byte that arrives after the connection is closed is answered by a reset.
    socket.on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(headOf(receiver));
    const dripping = setInterval(() => socket.write(body.slice(0, 1)), 10);
    await closed;
    clearInterval(dripping);
    expect(statusOf(Buffer.concat(chunks).toString())).toBe(408);
    await expectAlive();
  });

  it.each([
    ['in its headers', () => headOf(receiver).slice(0, 40)],
    ['in its body', () => `${headOf(receiver)}${body.slice(0, half)}`],
    ['before its last chunk', () => `${headOf(receiver, { 'Transfer-Encoding': 'chunked' })}2\r\n{}\r\n`],
  ])('that breaks off %s harms no other request', async (_, send) => {
    for (const end of ['end', 'destroy', 'resetAndDestroy'] as const) {
      const socket = await openSocket(receiver.port);
      const closed = once(socket.resume(), 'close');
      socket.write(send());
      await wait(5);
      socket[end]();
      await closed;
    }
    await expectAlive();
    expect(receiver.log.text()).toBe('');
  });

  it('that breaks off before the answer still gets its delivery stored', async () => {
    const socket = await openSocket(receiver.port);
    socket.write(`${headOf(receiver)}${body}`);
    await until('it reaches the inbox', receiver.handedOver, (count) => count === 1);
    socket.resetAndDestroy();
    await until('it is stored', receiver.stored, ({ length }) => length === 1);
    expect((await receiver.deliver(body)).body).toEqual({ status: 'duplicate' });
  });

  it('carries several deliveries in a row, refused or not', async () => {
    const one = `${headOf(receiver)}${body}`;
    const wrong = `${headOf(receiver, { 'X-OpenTrain-Signature': noSecretsSignature() })}${body}`;
    const last = one.replace('Content-Type', 'Connection: close\r\nContent-Type');
    const answers = await exchange(receiver.port, one, wrong, one, last);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 401', 'HTTP/1.1 200', 'HTTP/1.1 200']);
  });

  it('cannot smuggle a request in a body that is refused unread', async () => {
    const inner = `${headOf(receiver)}${body}`;
    const head = headOf(receiver, { 'Content-Type': 'text/plain', 'Content-Length': inner.length });
    const answers = await exchange(receiver.port, head, inner);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 415']);
    expect(await receiver.stored()).toEqual([]);
  });

  function noSecretsSignature(): string {
    return receiver.signatureOf(body, 'whsec_wrong');
  }

  /** Expects the receiver to work, and nothing refused to be stored. */
  async function expectAlive(): Promise<void> {
    expect(await receiver.stored()).toEqual([]);
    expect((await receiver.deliver(body)).body).toEqual({ status: 'accepted' });
  }
});

describe('a receiver that stops', () => {
  it('answers requests in progress and accepts no new ones', async () => {
    const { promise: storing, resolve: store } = Promise.withResolvers<void>();
    const database = openForTest(await sqlite.createMigrated());
    const receiver = await openReceiver(database, {
      append: (storage) => async (deliveries) => {
        await storing;
        return await appendDeliveries(storage, deliveries);
      },
    });
    const answer = receiver.deliver(body);
    await until('it reaches the inbox', receiver.handedOver, (count) => count === 1);
    const stopped = receiver.server.stop();
    await expect(openSocket(receiver.port)).rejects.toThrow('ECONNREFUSED');
    store();
    expect((await answer).body).toEqual({ status: 'accepted' });
    await stopped;
    await receiver.server.stop();
  });

  it('cuts connections that do not end in time', async () => {
    const receiver = await openReceiver(openForTest(await sqlite.createMigrated()));
    const socket = await openSocket(receiver.port);
    socket.write(headOf(receiver));
    const closed = once(socket.resume(), 'close');
    await receiver.server.stop();
    await closed;
  });

  it('cannot start on a port that is in use', async () => {
    const first = await openReceiver(openForTest(await sqlite.createMigrated()));

    const options = { host: '127.0.0.1', port: first.port, listener: () => undefined };
    await expect(createHttpServer(options).start()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(`Could not listen on 127.0.0.1:${first.port}`),
    });
  });
});

describe('the state of the receiver', () => {
  it('is alive whatever the state of the storage, and ready only while a delivery can be stored', async () => {
    let failure: AppError | undefined;
    const receiver = await openReceiver(openForTest(await sqlite.createMigrated()), {
      checkStorage: async () => {
        if (failure !== undefined) throw failure;
      },
    });
    await request(receiver.url).get('/healthz').expect(200, { status: 'ok' });
    await request(receiver.url).get('/readyz').expect(200, { status: 'ok' });
    receiver.clock.advance(1000);
    failure = new AppError('unavailable', 'The database could not be used (SQLITE_FULL)');
    await request(receiver.url).get('/healthz').expect(200, { status: 'ok' });
    await request(receiver.url)
      .get('/readyz')
      .expect(503, { error: 'The request could not be handled now', code: 'unavailable' });
    failure = undefined;
    receiver.clock.advance(1000);
    await request(receiver.url).get('/readyz').expect(200, { status: 'ok' });
  });

  it('checks the storage at most once a second', async () => {
    let checks = 0;
    const receiver = await openReceiver(openForTest(await sqlite.createMigrated()), {
      checkStorage: async () => {
        checks += 1;
      },
    });
    for (let asked = 0; asked < 10; asked += 1) await request(receiver.url).get('/readyz');
    expect(checks).toBe(1);
  });
});

function headOf(receiver: TestReceiver, headers: Record<string, string | number> = {}): string {
  const length = 'Transfer-Encoding' in headers ? {} : { 'Content-Length': Buffer.byteLength(body) };
  return requestHead('POST /webhooks/acme', {
    'Content-Type': 'application/json',
    'X-OpenTrain-Signature': receiver.signatureOf(body),
    ...length,
    ...headers,
  });
}
