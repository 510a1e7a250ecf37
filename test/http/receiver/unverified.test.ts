import { once } from 'node:events';
import type { Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openForTest, sqlite } from '../../support/databases.ts';
import { contractStarted } from '../../support/deliveries.ts';
import { exchange, openSocket, requestHead, statusOf } from '../../support/raw-http.ts';
import { openReceiver, otherSecret, type TestReceiver } from '../../support/receiver-harness.ts';
import { until } from '../../support/until.ts';

const body = contractStarted();
const zeros = '0'.repeat(64);
const kib = 1024;

async function open(options: Parameters<typeof openReceiver>[1] = {}): Promise<TestReceiver> {
  return await openReceiver(openForTest(await sqlite.createMigrated()), options);
}

interface Announced {
  install?: string;
  signature?: string;
  bytes?: number;
}

/** The head of a request that announces a body. */
function headOf({ install = 'acme', signature, bytes = 1000 }: Announced): string {
  return requestHead(`POST /webhooks/${install}`, {
    'Content-Type': 'application/json',
    ...(signature === undefined ? {} : { 'X-OpenTrain-Signature': signature }),
    'Content-Length': bytes,
  });
}

describe('a body that is announced and never sent', () => {
  const seconds = (receiver: TestReceiver, later: number) => receiver.clock.seconds() + later;
  const cases: [string, string, (receiver: TestReceiver) => string | undefined][] = [
    ['no signature', 'missing', () => undefined],
    ['a signature in another format', 'malformed', () => `sha256=${zeros}`],
    ['a signature that is too old', 'too_old', (it) => `t=${seconds(it, -301)},v1=${zeros}`],
    ['a signature from the future', 'too_new', (it) => `t=${seconds(it, 301)},v1=${zeros}`],
  ];

  it.each(cases)('with %s is refused at once, and its connection closed', async (_, reason, of) => {
    const receiver = await open();
    const signature = of(receiver) ?? '';
    const answers = await Promise.all(
      ['acme', 'unknown'].map((install) => exchange(receiver.port, headOf({ install, signature, bytes: 256 * kib }))),
    );
    for (const answer of answers) {
      expect(statusOf(answer)).toBe(401);
      expect(answer).toMatch(/^Connection: close\r$/m);
      expect(answer).toContain('{"error":"The signature is not valid","code":"unauthenticated"}');
    }
    // The answer does not show whether an install exists.
    const [known, unknown] = answers.map((answer) => answer.replace(/^Date: .*$/m, ''));
    expect(known).toBe(unknown);
    expect(receiver.log.lines().map((line) => [line['install'], line['reason']])).toEqual(
      expect.arrayContaining([
        ['acme', reason],
        ['(unknown)', reason],
      ]),
    );
  });

  it('and is larger than 256 KiB is refused at once too', async () => {
    const receiver = await open();
    const signature = receiver.signatureOf(body);
    const answer = await exchange(receiver.port, headOf({ signature, bytes: 256 * kib + 1 }));
    expect(statusOf(answer)).toBe(413);
  });
});

describe('a body that arrives in many pieces', () => {
  it('is put together correctly, whatever the size of the pieces', async () => {
    const receiver = await open();
    const large = body.padEnd(256 * kib - (Buffer.byteLength(body) - body.length));
    const bytes = Buffer.from(large);
    const pieces = [...Array(100).keys()].map((index) => bytes.subarray(index, index + 1));
    for (let from = 100; from < bytes.length; from += 9001) {
      pieces.push(bytes.subarray(from, from + 9001));
    }
    const socket = await openSocket(receiver.port);
    const answered = once(socket, 'data');
    socket.write(headOf({ signature: receiver.signatureOf(large), bytes: bytes.length }));
    for (const piece of pieces) await new Promise((resolve) => socket.write(piece, resolve));
    const [answer] = (await answered) as [Buffer];
    expect(statusOf(answer.toString())).toBe(200);
    expect((await receiver.stored()).map((one) => one.body)).toEqual([bytes]);
  });
});

describe('a flood of incomplete bodies with well-formed signatures', () => {
  /** Each connection sends all but the last byte of 60 KiB and stays open. The overhead of chunks is counted too. */
  async function flood(receiver: TestReceiver, install: string, count: number) {
    const answers: string[] = [];
    const signature = `t=${receiver.clock.seconds()},v1=${zeros}`;
    const sockets: Socket[] = [];
    for (let sent = 0; sent < count; sent += 1) {
      const socket = await openSocket(receiver.port);
      socket.on('data', (answer: Buffer) => answers.push(answer.toString()));
      socket.on('error', () => undefined);
      socket.write(headOf({ install, signature, bytes: 60 * kib }));
      socket.write(Buffer.alloc(60 * kib - 1, ' '));
      sockets.push(socket);
    }
    return { answers, refusals: () => answers.length, sockets };
  }

  it.each(['acme', 'unknown'])('to %s is answered 503 beyond half of the memory', async (install) => {
    const receiver = await open({ inFlightBytes: 1024 * kib });
    const { answers, refusals } = await flood(receiver, install, 12);
    await until('4 of 12 are refused', refusals, (count) => count >= 4);
    expect(answers).toHaveLength(4);
    for (const answer of answers) {
      expect(statusOf(answer)).toBe(503);
      expect(answer).toMatch(/^Retry-After: 10\r$/m);
      expect(answer).toMatch(/^Connection: close\r$/m);
      expect(answer).toContain('"code":"unavailable"');
    }
    const { values } = await receiver.metrics.deferrals.get();
    const known = install === 'acme' ? install : '';
    expect(values).toMatchObject([{ value: 4, labels: { install: known, reason: 'bytes_in_flight' } }]);
    expect(receiver.log.lines()).toHaveLength(1);
  });

  it('does not keep another install from delivering', async () => {
    const receiver = await open({ inFlightBytes: 1024 * kib });
    const { refusals, sockets } = await flood(receiver, 'acme', 12);
    await until('some are refused', refusals, (count) => count >= 4);
    const large = body.padEnd(128 * kib);
    const theirs = { install: 'globex', secret: otherSecret };
    expect((await receiver.deliver(large, theirs)).body).toEqual({ status: 'accepted' });
    expect((await receiver.deliver(large)).status).toBe(503);

    for (const socket of sockets) socket.destroy();
    const deliver = async () => (await receiver.deliver(large)).body;
    await until('there is room again', deliver, (answer) => isDeepStrictEqual(answer, { status: 'accepted' }));
  });
});

describe('connections beyond the limit', () => {
  /** Connections are closed only to make room, never for being slow. */
  const tight = { maxConnections: 10, requestTimeoutMs: 120_000 };

  it('make the receiver close idle connections, so that a new one gets in', async () => {
    const receiver = await open(tight);
    const idle = await Promise.all(Array.from({ length: 10 }, () => openSocket(receiver.port)));
    const closed = idle.map((socket) =>
      once(
        socket.on('error', () => undefined),
        'close',
      ),
    );
    for (const socket of idle) {
      socket.write(requestHead('GET /healthz', {}));
      await once(socket, 'data');
    }
    expect((await receiver.deliver(body)).body).toEqual({ status: 'accepted' });
    await Promise.all(closed);
  });

  it('make it close the oldest connections if none is idle', async () => {
    const receiver = await open(tight);
    const silent: Socket[] = [];
    let closed = 0;
    for (let opened = 0; opened < 30; opened += 1) {
      const socket = await openSocket(receiver.port);
      socket
        .on('error', () => undefined)
        .once('close', () => {
          closed += 1;
        });
      socket.resume().write('POST /webhooks/acme HTTP/1.1\r\n');
      silent.push(socket);
    }
    const countClosed = () => closed;
    await until('20 are closed', countClosed, (count) => count >= 20);
    expect((await receiver.deliver(body)).body).toEqual({ status: 'accepted' });
    expect(silent.slice(0, 20).every(({ destroyed }) => destroyed)).toBe(true);
    expect(silent.slice(22).some(({ destroyed }) => destroyed)).toBe(false);
  });
});
