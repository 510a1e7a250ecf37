import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { listenOnLoopback, openHttpFake, sendJson } from '../support/http-fake.ts';

const token = 'ot_ptk_secret-of-acme';
const { signal } = new AbortController();
const pacing = { requestsPerSecond: 1000, burst: 100 };
const links = { projectLinks: [] };
const contracts = { contracts: [] };

/** A marketplace that counts its connections and records the requests. */
async function openServer(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const bodies: unknown[] = [];
  const counts = { connections: 0 };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    bodies.push(text === '' ? undefined : JSON.parse(text));
    answer(request, response);
  });
  server.on('connection', () => {
    counts.connections += 1;
  });
  const baseUrl = await listenOnLoopback(server);
  return { api: createPlatformSource({ baseUrl, token, pacing }), baseUrl, bodies, counts };
}

describe('a connection', () => {
  it('is used again, also after a failure', async () => {
    const { api, counts, bodies } = await openServer((request, response) => {
      const isKnown = request.url === '/project-links';
      sendJson(response, isKnown ? links : { error: 'no' }, isKnown ? 200 : 404);
    });
    for (let count = 0; count < 10; count += 1) {
      await api.listLinks(signal);
      await expect(api.readEndpoint('x', signal)).rejects.toMatchObject({ status: 404 });
    }
    expect(bodies).toHaveLength(20);
    // The next connection may be opened a moment before the last one is free.
    expect(counts.connections).toBeLessThanOrEqual(2);
  });
});

describe('a call', () => {
  it('sends what is requested, and nothing else', async () => {
    const { api, bodies } = await openServer((_, response) => sendJson(response, {}, 400));
    const failed = { code: 'invalid', status: 400 };
    const entries = [{ workDate: '2026-03-15', totalSeconds: 0 }];
    const calls = [
      () => api.createLink({ externalProjectId: 'p' }, signal),
      () => api.deleteLink('l', signal),
      () => api.reportUsage('c', entries, signal),
      () => api.updateEndpoint('e', { status: 'ACTIVE' }, signal),
      () => api.redeliver('e', undefined, signal),
      () => api.redeliver('e', 'd', signal),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject(failed);
    expect(bodies).toEqual([
      { externalProjectId: 'p' },
      undefined,
      { entries },
      { status: 'ACTIVE' },
      {},
      { deliveryId: 'd' },
    ]);
  });

  it('keeps every id within its segment of the path', async () => {
    const { api, requests } = await open((_, response) => sendJson(response, {}, 404));
    const id = '../x?y=#';
    const calls = [
      () => api.readLink(id, signal),
      () => api.deleteLink(id, signal),
      () => api.readBudget(id, signal),
      () => api.reportUsage(id, [], signal),
      () => api.readEndpoint(id, signal),
      () => api.updateEndpoint(id, {}, signal),
      () => api.deleteEndpoint(id, signal),
      () => api.redeliver(id, undefined, signal),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'not_found' });
    expect(requests.map(({ line }) => line)).toEqual(
      Array.from(calls, () => expect.stringMatching(/^[A-Z]+ \/[a-z-]+\/\.\.%2Fx%3Fy%3D%23/)),
    );
    for (const none of ['', '..', '\ud800']) {
      await expect(api.readBudget(none, signal)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(requests).toHaveLength(calls.length);
  });

  it('follows no redirect with what it sends', async () => {
    const elsewhere = await openHttpFake((_, response) => sendJson(response, {}));
    const location = `${elsewhere.url}/webhook-endpoints`;
    const { api } = await open((_, response) => sendJson(response, {}, 307, { location }));
    const wanted = { url: 'http://localhost/', eventTypes: ['contract.ended'] };
    const refused = { code: 'invalid', status: 307 };
    await expect(api.createEndpoint(wanted, signal)).rejects.toMatchObject(refused);
    await expect(api.findDeviations(signal)).rejects.toMatchObject(refused);
    expect(elsewhere.requests).toEqual([]);
  });

  it('gives up if no answer comes', async () => {
    const fake = await openHttpFake(() => undefined);
    const api = createPlatformSource({ baseUrl: fake.url, token, pacing, timeoutMs: 30 });
    await expect(api.listLinks(signal)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'Could not list the project links: no answer within 30 ms',
    });
  });

  it('reads an answer only up to a limit', async () => {
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    let sent = 0;
    const { api } = await open((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && sent < 64 && response.write(chunk)) sent += 1;
      };
      response.on('drain', more);
      more();
    });
    await expect(api.listLinks(signal)).rejects.toMatchObject({
      code: 'invalid',
      message: 'Could not list the project links: the answer is over 8388608 bytes',
    });
    expect(sent).toBeLessThan(64);
  });

  it('needs no token for the served contract', async () => {
    const { api, requests } = await open((_, response) => sendJson(response, { paths: {} }));
    await api.findDeviations(signal);
    expect(requests).toEqual([{ line: 'GET /openapi.json', authorization: undefined }]);
  });
});

describe('an answer of 429', () => {
  it('pauses all calls of the install for the stated time, and of no other install', async () => {
    const answeredAt: number[] = [];
    const tokens: (string | undefined)[] = [];
    const { api, url } = await open((request, response, count) => {
      answeredAt.push(performance.now());
      tokens.push(request.headers.authorization);
      if (count === 1) sendJson(response, {}, 429, { 'retry-after': '1' });
      else sendJson(response, { ...links, ...contracts });
    });
    const other = createPlatformSource({ baseUrl: url, token: 'ot_ptk_other' });
    const refused = { code: 'rate_limited', retryAfterMs: 1000 };
    await expect(api.listLinks(signal)).rejects.toMatchObject(refused);
    const waiting = [api.listLinks(signal), api.listContracts({ status: 'active' }, signal), other.listLinks(signal)];
    await Promise.all(waiting);
    const [first = 0, , ...later] = answeredAt;
    expect(tokens[1]).toBe('Bearer ot_ptk_other');
    expect(later).toHaveLength(2);
    for (const at of later) expect(at - first).toBeGreaterThanOrEqual(990);
  });

  it('with a long wait refuses all calls in that time', async () => {
    const { api, requests } = await open((_, response) => {
      sendJson(response, {}, 429, { 'retry-after': '120' });
    });
    const refused = { code: 'rate_limited', retryAfterMs: expect.closeTo(120_000, -4) };
    await expect(api.listLinks(signal)).rejects.toMatchObject(refused);
    await expect(api.readGrant(signal)).rejects.toMatchObject({ ...refused, status: undefined });
    expect(requests).toHaveLength(1);
  });

  it('without a stated time causes a pause too', async () => {
    const answeredAt: number[] = [];
    const { api } = await open((_, response, count) => {
      answeredAt.push(performance.now());
      sendJson(response, links, count === 1 ? 429 : 200);
    });
    await expect(api.listLinks(signal)).rejects.toMatchObject({ retryAfterMs: undefined });
    await api.listLinks(signal);
    const [first = 0, second = 0] = answeredAt;
    expect(second - first).toBeGreaterThanOrEqual(490);
  });
});

describe('a token that may be replaced', () => {
  const open = async (refused: string) => {
    const fake = await openHttpFake(({ headers: { authorization } }, response) =>
      authorization === `Bearer ${refused}` ? sendJson(response, {}, 401) : sendJson(response, links),
    );
    const sent = () => fake.requests.map(({ authorization }) => authorization);
    return { baseUrl: fake.url, sent };
  };

  it('is asked for before each request', async () => {
    const { baseUrl, sent } = await open('none');
    const next = ['old', 'new'];
    const api = createPlatformSource({ baseUrl, token: async () => next.shift() ?? '', pacing });
    for (const _ of ['once', 'again']) await api.listLinks(signal);
    expect(sent()).toEqual(['Bearer old', 'Bearer new']);
  });

  it('is asked for once more if it is refused, and only another one is tried', async () => {
    const { baseUrl, sent } = await open('old');
    const next = ['old', 'new'];
    const replaced = createPlatformSource({ baseUrl, token: async () => next.shift() ?? '', pacing });
    expect(await replaced.listLinks(signal)).toEqual([]);
    expect(sent()).toEqual(['Bearer old', 'Bearer new']);
    const kept = createPlatformSource({ baseUrl, token: async () => 'old', pacing });
    await expect(kept.listLinks(signal)).rejects.toMatchObject({ code: 'unauthenticated', status: 401 });
    expect(sent()).toHaveLength(3);
  });
});

it('sends no more requests than its pace allows', async () => {
  const { url, requests } = await open((_, response) => sendJson(response, links));
  const api = createPlatformSource({
    baseUrl: url,
    token,
    pacing: { requestsPerSecond: 20, burst: 2 },
  });
  const beganAt = performance.now();
  await Promise.all(Array.from({ length: 6 }, () => api.listLinks(signal)));
  expect(requests).toHaveLength(6);
  expect(performance.now() - beganAt).toBeGreaterThanOrEqual(198);
});

describe('the clock', () => {
  it('is compared with every answer, even a refusal', async () => {
    const clock = createFakeClock('2026-03-15T12:02:00.000Z');
    const date = 'Sun, 15 Mar 2026 12:00:00 GMT';
    const answers = [
      [200, { date }],
      [401, { date }],
      [200, { age: '1', date }],
    ] as const;
    const { url } = await open((_, response, count) => {
      const [status, headers] = answers[count - 1] ?? [];
      sendJson(response, links, status, headers);
    });
    const api = createPlatformSource({ baseUrl: url, token, clock });
    expect(api.clockDriftMs()).toBeUndefined();
    await api.listLinks(signal);
    expect(api.clockDriftMs()).toBe(119_000);
    clock.advance(-240_000);
    await expect(api.listLinks(signal)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(api.clockDriftMs()).toBe(-120_000);
    clock.advance(120_000);
    await api.listLinks(signal);
    expect(api.clockDriftMs()).toBe(-120_000);
  });
});

async function open(answer: (request: IncomingMessage, response: ServerResponse, count: number) => void) {
  const fake = await openHttpFake(answer);
  return { api: createPlatformSource({ baseUrl: fake.url, token, pacing }), ...fake };
}
