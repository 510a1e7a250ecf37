import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { openForTest, sqlite } from '../../support/databases.ts';
import { contractStarted, workEmail } from '../../support/deliveries.ts';
import { exchange, requestHead, statusOf } from '../../support/raw-http.ts';
import { acmeSecret, openReceiver, post, type TestReceiver } from '../../support/receiver-harness.ts';

const maxBodyBytes = 256 * 1024;
const body = contractStarted();

describe('a request', () => {
  let receiver: TestReceiver;

  beforeEach(async () => {
    receiver = await openReceiver(openForTest(await sqlite.createMigrated()));
  });

  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'by %s is answered 405 with the methods that are allowed',
    async (method) => {
      const response = await fetch(`${receiver.url}/webhooks/acme`, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
      const problem = { error: 'Deliveries come by POST', code: 'method_not_allowed' };
      if (method !== 'HEAD') expect(await response.json()).toEqual(problem);
    },
  );

  it.each([
    '/',
    '/webhooks',
    '/webhooks/',
    '/webhooks/acme/more',
    '/Webhooks/acme',
    '//webhooks/acme',
    '/webhooks%2Facme',
    '/healthz',
    '/metrics',
  ])('to %s is answered 404', async (path) => {
    const headers = { 'x-opentrain-signature': receiver.signatureOf(body) };
    const answer = await post(`${receiver.url}${path}`, body, headers);
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({ error: 'There is nothing at this address', code: 'not_found' });
    expect(answer.headers).not.toHaveProperty('x-powered-by');
  });

  it.each([
    ['of text', { 'content-type': 'text/plain' }],
    ['of a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['of something like JSON', { 'content-type': 'application/jsonp' }],
    ['of several types', { 'content-type': 'text/plain, application/json' }],
    ['labelled as gzip', { 'content-encoding': 'gzip' }],
    ['labelled as brotli', { 'content-encoding': 'br' }],
    ['labelled as compressed twice', { 'content-encoding': 'gzip, identity' }],
  ])('with a body %s is answered 415', async (_, headers) => {
    const answer = await receiver.deliver(body, { headers });
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    expect(await receiver.stored()).toEqual([]);
  });

  it('without a content type is answered 415', async () => {
    const head = requestHead('POST /webhooks/acme', {
      'X-OpenTrain-Signature': receiver.signatureOf(body),
      'Content-Length': Buffer.byteLength(body),
    });
    expect(statusOf(await exchange(receiver.port, head, body))).toBe(415);
  });

  it('with a compressed body that is not labelled so is stored as it is', async () => {
    const compressed = gzipSync(body);
    expect((await receiver.deliver(compressed)).body).toEqual({ status: 'unprocessable' });
    expect((await receiver.stored())[0]?.body).toEqual(compressed);
  });

  it.each([
    ['in upper case with parameters', { 'content-type': 'Application/JSON ; charset=utf-8' }],
    ['and the encoding identity', { 'content-encoding': 'identity' }],
    ['and the encoding IDENTITY in capitals, which was answered 415', { 'content-encoding': 'IDENTITY' }],
  ])('with its type %s is accepted', async (_, headers) => {
    expect((await receiver.deliver(body, { headers })).body).toEqual({ status: 'accepted' });
  });

  it('of exactly 256 KiB is stored, and of one byte more refused', async () => {
    const largest = body.padEnd(maxBodyBytes - (Buffer.byteLength(body) - body.length));
    expect((await receiver.deliver(largest)).body).toEqual({ status: 'accepted' });
    expect(await receiver.deliver(`${largest} `)).toMatchObject({ status: 413 });
    const stored = await receiver.stored();
    expect(stored.map((delivery) => delivery.body.length)).toEqual([maxBodyBytes]);
  });

  it('of 1 MB is answered 413, however often it is tried', async () => {
    const large = Buffer.alloc(1_000_000, ' ');
    for (let attempt = 0; attempt < 20; attempt += 1) {
      expect(await receiver.deliver(large)).toMatchObject({
        status: 413,
        body: { error: 'The body is larger than 256 KiB', code: 'too_large' },
      });
    }
    expect(await receiver.stored()).toEqual([]);
  });

  it('in chunks that exceed 256 KiB is answered 413 before it ends', async () => {
    const head = headOf(receiver, { 'Transfer-Encoding': 'chunked' });
    const response = await exchange(receiver.port, head, toChunk('x'.repeat(300_000)));
    expect(statusOf(response)).toBe(413);
  });

  it('in chunks of one byte is accepted like any other', async () => {
    const head = headOf(receiver, { 'Transfer-Encoding': 'chunked', Connection: 'close' });
    const chunks = [...Buffer.from(body)].map((byte) => toChunk(Buffer.of(byte)));
    const response = await exchange(receiver.port, head, Buffer.concat(chunks), '0\r\n\r\n');
    expect(statusOf(response)).toBe(200);
    expect(response).toContain('{"status":"accepted"}');
  });

  it.each([
    ['a length that is not a number', { 'Content-Length': 'many' }],
    ['two lengths', { 'Content-Length': ['10', '12'] }],
    ['a length and chunks', { 'Content-Length': '10', 'Transfer-Encoding': 'chunked' }],
    ['a header with a control character', { 'X-OpenTrain-Delivery': 'a\u0001b' }],
  ])('with %s is answered 400', async (_, headers) => {
    const head = headOf(receiver, headers);
    expect(statusOf(await exchange(receiver.port, head))).toBe(400);
  });

  it('that is not HTTP is answered 400', async () => {
    expect(statusOf(await exchange(receiver.port, 'EHLO example.com\r\n\r\n'))).toBe(400);
  });

  it('with headers beyond 16 KiB is answered 431', async () => {
    const head = requestHead('POST /webhooks/acme', { 'X-Long': 'x'.repeat(20_000) });
    expect(statusOf(await exchange(receiver.port, head))).toBe(431);
  });

  it('with the signature header twice is answered 401', async () => {
    const signature = receiver.signatureOf(body);
    const head = headOf(receiver, { ...whole, 'X-OpenTrain-Signature': [signature, signature] });
    expect(statusOf(await exchange(receiver.port, head, body))).toBe(401);
    expect(receiver.log.lines()).toMatchObject([{ reason: 'malformed' }]);
  });

  it('that expects 100 Continue gets it', async () => {
    const head = headOf(receiver, { ...whole, Expect: '100-continue' });
    const response = await exchange(receiver.port, head, body);
    expect(response).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  describe('for an install that does not exist', () => {
    it.each([
      'unknown',
      'ACME',
      '__proto__',
      'constructor',
      'toString',
      '%00',
      'acme%00',
      '%zz',
      '%',
      '%c3%28',
      'acm%65',
      '..%2facme',
      'acme;x',
      'x'.repeat(5000),
    ])('(%s) is answered like one with a wrong signature', async (install) => {
      const wrong = await receiver.deliver(body, { secret: 'whsec_wrong' });
      const unknown = await receiver.deliver(body, { install });
      expect(unknown.status).toBe(401);
      expect(withoutDate(unknown)).toEqual(withoutDate(wrong));
      expect(unknown.body).toEqual({ error: 'The signature is not valid', code: 'unauthenticated' });
      expect(receiver.log.lines().map(({ install: named }) => named)).toEqual(['acme', '(unknown)']);
      expect(await receiver.stored()).toEqual([]);
    });
  });

  it.each([
    ['a wrong secret', 'no_secret_matched', { secret: 'whsec_wrong' }],
    ['the secret of another install', 'no_secret_matched', { install: 'globex' }],
    ['no signature', 'missing', { headers: { 'x-opentrain-signature': '' } }],
    ['a signature in another format', 'malformed', { headers: { 'x-opentrain-signature': 'sha256=00' } }],
  ])('with %s is answered 401, counted, and not stored', async (_, reason, changes) => {
    const answer = await receiver.deliver(body, changes);
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    const { values } = await receiver.metrics.refusals.get();
    expect(values).toMatchObject([{ value: 1, labels: { reason } }]);
    expect(await receiver.stored()).toEqual([]);
  });

  it('that is refused leaves neither secret nor address nor body in the log', async () => {
    await receiver.deliver(body, { secret: 'whsec_wrong' });
    await receiver.deliver(body, { install: workEmail });
    await receiver.deliver(`{"email":"${workEmail}"`);
    expect(receiver.log.lines()).toHaveLength(3);
    const text = receiver.log.text();
    for (const secret of [acmeSecret, 'whsec_', workEmail, 'amara', 'cmc1', 'v1=', '127.0.0.1']) {
      expect(text).not.toContain(secret);
    }
  });
});

/** Announces the body, which ends the connection. */
const whole = { 'Content-Length': Buffer.byteLength(body), Connection: 'close' };

function headOf(receiver: TestReceiver, headers: Parameters<typeof requestHead>[1]): string {
  const signed = { 'Content-Type': 'application/json', 'X-OpenTrain-Signature': receiver.signatureOf(body) };
  return requestHead('POST /webhooks/acme', { ...signed, ...headers });
}

function toChunk(data: string | Uint8Array): Buffer {
  const bytes = Buffer.from(data);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

function withoutDate({ headers: { date: _, ...headers }, ...answer }: Awaited<ReturnType<typeof post>>) {
  return { ...answer, headers };
}
