import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { baseUrlsOf, createClient, previewRequest } from '../../src/marketplace/client.ts';
import { account, identity } from '../../src/marketplace/contract/account.ts';
import { operations } from '../../src/marketplace/contract/contract.ts';
import { manuals, workspaces } from '../../src/marketplace/contract/instructions.ts';
import { drafts, jobs } from '../../src/marketplace/contract/jobs.ts';
import { messages } from '../../src/marketplace/contract/messages.ts';
import { fieldsOfPath, methodOf } from '../../src/marketplace/contract/operation.ts';
import { platformContracts } from '../../src/marketplace/contract/platform.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';
import { failureOf, signal } from './failure-of.ts';

const token = 'ot_pat_secret-of-acme';
const pacing = { requestsPerSecond: 10_000, burst: 10_000 };

interface Received {
  key: unknown;
  body: string;
}

async function open(answer: (request: IncomingMessage, response: ServerResponse, count: number) => void) {
  const received: Received[] = [];
  async function take(request: IncomingMessage, response: ServerResponse, count: number): Promise<void> {
    const body = (await Array.fromAsync(request)).join('');
    received.push({ key: request.headers['idempotency-key'], body });
    answer(request, response, count);
  }
  const fake = await openHttpFake((...given) => void take(...given));
  return { client: createClient({ baseUrl: fake.url, token, pacing }), received, ...fake };
}

describe('a request', () => {
  it.each(operations.map((one) => [one.id, one] as const))(
    'of %s is its address, its fields and its credential',
    async (_, one) => {
      const { client, requests, received } = await open((_request, response) => sendJson(response, {}, 400));
      const ids = Object.fromEntries(fieldsOfPath(one).map((name) => [name, 'a/b']));
      await failureOf(client.callRaw(one, { ...ids, extra: 'x y' }, signal));
      const isQuery = ['GET', 'DELETE'].includes(methodOf(one));
      const address = `${one.address.replaceAll(/\{\w+\}/g, 'a%2Fb')}${isQuery ? '?extra=x+y' : ''}`;
      const authorization = ['personal', 'platform'].includes(one.credential) ? `Bearer ${token}` : undefined;
      expect(requests).toEqual([{ line: address, authorization }]);
      expect(received[0]?.body).toBe(isQuery ? '' : '{"extra":"x y"}');
      expect(typeof received[0]?.key).toBe(one.idempotency === 'header' ? 'string' : 'undefined');
    },
  );

  it('repeats a field of the query for each of its values', async () => {
    const { client, requests } = await open((_, response) => sendJson(response, { observations: [] }));
    await client.call(messages.emailAudit, { jobId: 'j', messageIds: ['m1', 'm2'], since: undefined }, signal);
    expect(requests[0]?.line).toBe('GET /messages/email-audit?jobId=j&messageIds=m1&messageIds=m2');
  });

  it('can be shown without its tokens', () => {
    const baseUrl = 'https://app.example/api/public/v1';
    expect(previewRequest(baseUrl, workspaces.create, { name: 'Signs' })).toEqual({
      method: 'POST',
      url: 'https://app.example/api/public/v1/instructions/workspaces',
      headers: { authorization: 'Bearer …', 'Idempotency-Key': 'new for each call' },
      body: { name: 'Signs' },
    });
    expect(previewRequest(baseUrl, identity.revoke, { token })).toEqual({
      method: 'POST',
      url: 'https://app.example/api/agent/identity/revoke',
      headers: {},
      body: { token: '…' },
    });
    expect(previewRequest(baseUrl, account.me, {}).body).toBeUndefined();
  });

  it.each([
    ['https://app.example/api/partner/v1', 'https://app.example/api/agent'],
    ['http://127.0.0.1:9/api/public/v1', 'http://127.0.0.1:9/api/agent'],
    ['https://proxy.example/market', 'https://proxy.example/market'],
  ])('goes to the base URL of its API, known from that of another: %s', (baseUrl, auth) => {
    const host = auth.replace('/api/agent', '');
    const path = (kind: string) => (host === auth ? auth : `${host}/api/${kind}/v1`);
    expect(baseUrlsOf(baseUrl)).toEqual({ platform: path('partner'), public: path('public'), auth });
  });

  it('is sent to each API at its own path', async () => {
    const fake = await openHttpFake((_, response) => sendJson(response, { contracts: [], jobs: [] }));
    const client = createClient({ baseUrl: `${fake.url}/api/public/v1`, token, pacing });
    await client.call(jobs.mine, {}, signal);
    await client.call(platformContracts.list, {}, signal);
    await failureOf(client.call(identity.register, {}, signal));
    const lines = fake.requests.map(({ line }) => line);
    expect(lines).toEqual([
      'GET /api/public/v1/jobs/mine',
      'GET /api/partner/v1/contracts',
      'POST /api/agent/identity',
    ]);
  });
});

describe('an answer', () => {
  it('can be had as it came', async () => {
    const odd = { jobs: 'none', newer: [1] };
    const { client } = await open((_, response) => sendJson(response, odd));
    expect(await client.callRaw(jobs.mine, {}, signal)).toEqual(odd);
    expect(await failureOf(client.call(jobs.mine, {}, signal))).toMatchObject({ code: 'invalid' });
  });

  it('in pages is read to the end', async () => {
    const job = (id: string) => ({ id, status: 'OPEN' });
    const { client, requests } = await open((_, response, count) =>
      sendJson(response, count === 1 ? { jobs: [job('1'), job('2')], nextCursor: 'next' } : { jobs: [job('3')] }),
    );
    const found = await client.listWhole(jobs.mine, { limit: 2 }, signal, { keyOf: ({ id }) => id });
    expect(found.map(({ id }) => id)).toEqual(['1', '2', '3']);
    expect(requests.map(({ line }) => line)).toEqual(['GET /jobs/mine?limit=2', 'GET /jobs/mine?limit=2&cursor=next']);
  });
});

describe('a lost answer', () => {
  const unavailable = (_: IncomingMessage, response: ServerResponse) => sendJson(response, {}, 503);

  it('is asked for again with the same key, and another call has another', async () => {
    const { client, received } = await open(unavailable);
    const create = () => failureOf(client.call(manuals.create, { workspaceId: 'w', title: 'Signs' }, signal));
    await create();
    await create();
    const keys = received.map(({ key }) => key);
    expect(keys).toHaveLength(6);
    expect(keys[0]).toMatch(/^[\da-f-]{36}$/);
    expect([new Set(keys.slice(0, 3)).size, new Set(keys.slice(3)).size, new Set(keys).size]).toEqual([1, 1, 2]);
  });

  it('is asked for again with the key that the caller chose', async () => {
    const { client, received } = await open(unavailable);
    const input = { workspaceId: 'w', title: 'Signs' };
    await failureOf(client.call(manuals.create, input, signal, { idempotencyKey: 'import-7' }));
    expect(received.map(({ key }) => key)).toEqual(['import-7', 'import-7', 'import-7']);
  });

  it.each(operations.filter(({ isFile }) => !isFile).map((one) => [one.id, one] as const))(
    'of %s is asked for again only if it cannot act twice',
    async (_, one) => {
      const { client, requests } = await open(unavailable);
      const ids = Object.fromEntries(fieldsOfPath(one).map((name) => [name, 'x']));
      await failureOf(client.callRaw(one, ids, signal));
      expect(requests).toHaveLength(['none', 'body'].includes(one.idempotency) ? 1 : 3);
    },
  );

  it('of a draft is asked for again if the draft has a key', async () => {
    const { client, requests } = await open(unavailable);
    await failureOf(client.call(drafts.create, { rawJobDescription: 'Signs', idempotencyKey: 'd1' }, signal));
    expect(requests).toHaveLength(3);
  });
});

describe('a file', () => {
  const bytes = Buffer.from('How to label signs');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const input = { messageId: 'm/1', attachmentId: 'att_1' };

  async function read(answer: (response: ServerResponse) => void) {
    const { client, requests } = await open((_, response) => answer(response));
    const chunks: Uint8Array[] = [];
    const reading = (async () => {
      for await (const chunk of client.download(messages.attachment, input, signal)) chunks.push(chunk);
    })();
    return { reading, requests, read: () => Buffer.concat(chunks).toString() };
  }

  const headers = (size: number, hash: string, prefix = 'X-Service') => ({
    [`${prefix}-Byte-Size`]: size,
    [`${prefix}-Sha256`]: hash,
  });

  it.each(['X-Service', 'X-OpenTrain'])('is read as it is, and checked against the headers %s', async (prefix) => {
    const {
      reading,
      read: text,
      requests,
    } = await read((response) => {
      response.writeHead(200, headers(bytes.length, sha256.toUpperCase(), prefix));
      response.write(bytes.subarray(0, 5));
      response.end(bytes.subarray(5));
    });
    await reading;
    expect(text()).toBe(bytes.toString());
    const line = 'GET /messages/m%2F1/attachments/att_1';
    expect(requests).toEqual([{ line, authorization: `Bearer ${token}` }]);
  });

  it.each([
    ['another length', headers(bytes.length + 1, sha256), 'unavailable', '18 bytes came instead of 19'],
    ['another hash', headers(bytes.length, 'a'.repeat(64)), 'invalid', 'the bytes do not have the named hash'],
    ['no length', { 'X-Service-Sha256': sha256 }, 'invalid', 'the answer does not name its length and hash'],
    ['no hash', { 'X-Service-Byte-Size': 18 }, 'invalid', 'the answer does not name its length and hash'],
  ])('with %s is not good', async (_, named, code, why) => {
    const { reading } = await read((response) => response.writeHead(200, named).end(bytes));
    const message = `Could not download an attachment: ${why}`;
    expect(await failureOf(reading)).toMatchObject({ code, message });
  });

  it('that breaks off is not good', async () => {
    const { reading } = await read((response) => {
      response.writeHead(200, headers(bytes.length, sha256));
      response.write(bytes.subarray(0, 5), () => response.destroy());
    });
    expect(await failureOf(reading)).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/broke off$/),
    });
  });

  it('over 20 MiB is not read to its end', async () => {
    const chunk = Buffer.alloc(1024 * 1024);
    let sent = 0;
    const { reading } = await read((response) => {
      response.writeHead(200, headers(64 * chunk.length, sha256));
      const more = () => {
        while (!response.destroyed && sent < 64 && response.write(chunk)) sent += 1;
      };
      response.on('drain', more);
      more();
    });
    expect(await failureOf(reading)).toMatchObject({
      code: 'invalid',
      message: 'Could not download an attachment: the answer is over 20971520 bytes',
    });
    expect(sent).toBeLessThan(64);
  });

  it('that is refused says why, is asked for once, and is at no other address', async () => {
    const refused = await read((response) => sendJson(response, { details: { reason: 'OVERSIZE' } }, 409));
    expect(await failureOf(refused.reading)).toMatchObject({
      code: 'conflict',
      message: 'Could not download an attachment: answered 409: the file is over 20 MiB',
    });
    const elsewhere = await openHttpFake((_, response) => response.end(bytes));
    const moved = await read((response) => response.writeHead(302, { location: elsewhere.url }).end());
    expect(await failureOf(moved.reading)).toMatchObject({ code: 'invalid', status: 302 });
    expect([elsewhere.requests.length, moved.requests.length]).toEqual([0, 1]);
  });

  it('that is refused because of too many reads pauses all calls', async () => {
    const { client, requests } = await open((_, response) => sendJson(response, {}, 429, { 'retry-after': '120' }));
    const first = async () => await Array.fromAsync(client.download(messages.attachment, input, signal));
    expect(await failureOf(first())).toMatchObject({ code: 'rate_limited', status: 429 });
    expect(await failureOf(client.call(account.me, {}, signal))).toMatchObject({
      code: 'rate_limited',
      status: undefined,
    });
    expect(requests).toHaveLength(1);
  });
});
