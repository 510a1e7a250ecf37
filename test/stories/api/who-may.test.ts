import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { operations } from '../../../src/http/api/openapi-document.ts';
import { addressOf, createApiClient } from '../../support/api-client.ts';
import { sqlite } from '../../support/databases.ts';
import { openJourney } from '../../support/journey.ts';
import { consoleTokens, cookieOf } from '../../support/visitor.ts';

interface Sent {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

interface Answered {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** `fetch` does not let its caller choose the host, nor the writing of the address. */
async function send(consoleUrl: string, path: string, { method = 'GET', headers = {}, body }: Sent = {}) {
  const { hostname, port, host } = new URL(consoleUrl);
  return await new Promise<Answered>((resolve, reject) => {
    const options = { hostname, port, path, method, headers: { host, ...headers }, setHost: false };
    const asked = request(options, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(parts).toString() }),
      );
    });
    asked.once('error', reject).end(body);
  });
}

const bearing = (name: keyof typeof consoleTokens) => ({ authorization: `Bearer ${consoleTokens[name].token}` });
const json = { 'content-type': 'application/json' };
const all = operations.map(({ id }) => ({ id, ...addressOf(id) }));
const acts = all.filter(({ method }) => method === 'POST');
const withParams = operations.filter(({ path }) => path.includes('{'));

function expectProblem({ status, headers, text }: Answered, wanted: number, code: string): void {
  expect(headers['content-type']).toMatch(/^application\/problem\+json/);
  const problem = JSON.parse(text);
  expect([status, problem.status, problem.code]).toEqual([wanted, wanted, code]);
  expect(Object.keys(problem).sort()).toEqual(['code', 'detail', 'status', 'title', 'type']);
  expect(text).not.toMatch(/\bat .*\.[jt]s:|node_modules/);
}

describe('the API', () => {
  const wrongToken = { authorization: `Bearer ${consoleTokens.otto.token.toUpperCase()}` };

  it.each<[string, Record<string, string>, number, string]>([
    ['without a token', {}, 401, 'unauthenticated'],
    ['with a wrong token', wrongToken, 401, 'unauthenticated'],
    ['to another host', { ...bearing('otto'), host: 'evil.example' }, 403, 'forbidden'],
    ['to a host that begins like its own', { ...bearing('otto'), host: 'localhost.evil.example' }, 403, 'forbidden'],
    ['to no host', { ...bearing('otto'), host: '' }, 403, 'forbidden'],
  ])('answers no request %s', async (_, headers, status, code) => {
    const { consoleUrl } = await openJourney(sqlite);
    const addresses = [...all, { method: 'GET', url: '/api/v1/openapi.json' }, { method: 'GET', url: '/api/v1/none' }];
    for (const { method, url } of addresses) {
      const answer = await send(consoleUrl, url, { method, headers });
      expectProblem(answer, status, code);
      expect(answer.headers['www-authenticate']).toBe(status === 401 ? 'Bearer' : undefined);
    }
  });

  it('lets a viewer read, and refuses what only operators may', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const viewer = createApiClient(consoleUrl, 'vera');
    for (const { id, role } of operations) {
      const { method, url } = addressOf(id);
      if (role === 'operator') {
        const given = { method, headers: { ...bearing('vera'), ...json } };
        const sent = method === 'POST' ? { ...given, body: '{}' } : given;
        expectProblem(await send(consoleUrl, url, sent), 403, 'forbidden');
      } else expect([id, (await viewer.send(id)).status]).toEqual([id, expect.toBeOneOf([200, 400, 404])]);
    }
  });

  it('accepts no cookie instead of a token, so that no page of another site can use it', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const cookie = await cookieOf(consoleUrl, 'otto');
    for (const { method, url } of all) {
      expectProblem(await send(consoleUrl, url, { method, headers: { cookie } }), 401, 'unauthenticated');
    }
  });

  it('lets wrong tokens be tried five times a minute, and counts one that comes again once', async () => {
    const { consoleUrl, clock } = await openJourney(sqlite);
    const attempt = (token: string) =>
      send(consoleUrl, '/api/v1/installs', { headers: { authorization: `Bearer ${token}` } });
    for (let time = 0; time < 20; time += 1) expect((await attempt('of-last-year')).status).toBe(401);
    for (const token of ['a', 'b', 'c', consoleTokens.otto.token.toUpperCase()]) {
      expect((await attempt(token)).status).toBe(401);
    }
    const refused = await attempt(consoleTokens.otto.token);
    expectProblem(refused, 429, 'rate_limited');
    expect(refused.headers['retry-after']).toBe('60');
    clock.advance(60_000);
    expect((await attempt(consoleTokens.otto.token)).status).toBe(200);
  });

  it('names the methods of an address to who sends another', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const refused = await send(consoleUrl, '/api/v1/installs', { method: 'DELETE', headers: bearing('vera') });
    expectProblem(refused, 405, 'method_not_allowed');
    expect(refused.headers['allow']).toBe('GET, HEAD');
  });

  it('refuses a body that is too large, no JSON, compressed, or of another type', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    for (const { method, url } of acts) {
      const post = (headers: object, body: string) =>
        send(consoleUrl, url, { method, headers: { ...bearing('otto'), ...headers }, body });
      // A folder may have many files.
      const bytes = /\/manuals\/(pull|diff|push)$/.test(url) ? 32 * 1024 * 1024 : 256 * 1024;
      expectProblem(await post(json, `{"a":"${'x'.repeat(bytes)}"}`), 413, 'too_large');
      expectProblem(await post(json, '{"a":'), 400, 'invalid');
      expectProblem(await post(json, '[1]'), 400, 'invalid');
      expectProblem(await post(json, '{"__proto__":{"a":1},"no such field":1}'), 400, 'invalid');
      expectProblem(await post({ ...json, 'content-encoding': 'gzip' }, '{}'), 415, 'unsupported_media_type');
      expectProblem(await post({ ...json, 'content-encoding': 'Identity' }, '{'), 400, 'invalid');
      expectProblem(await post({ 'content-type': 'text/plain' }, '{}'), 415, 'unsupported_media_type');
      expectProblem(
        await post({ 'content-type': 'application/x-www-form-urlencoded' }, 'a=1'),
        415,
        'unsupported_media_type',
      );
    }
  });

  it('finds nothing for hostile parts of an address, and puts none into a header', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const parts = [
      '..%2f..%2fetc%2fpasswd',
      '%2e%2e',
      '%00',
      '%0d%0aSet-Cookie:%20a=b',
      '%ff',
      '%',
      "1'--",
      '1e9',
      '-1',
    ];
    for (const { id, path, method } of withParams) {
      for (const part of parts) {
        const url = `/api/v1${path.replaceAll(/\{\w+\}/g, part)}`;
        const given = { method: method.toUpperCase(), headers: { ...bearing('otto'), ...json } };
        const answer = await send(consoleUrl, url, method === 'post' ? { ...given, body: '{}' } : given);
        expect([id, part, answer.status]).toEqual([id, part, expect.toBeOneOf([400, 404, 422])]);
        expect(answer.headers['set-cookie']).toBeUndefined();
      }
    }
  });

  it('refuses the queries of a list that it does not know or that make no sense', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    const lists = operations.filter(({ query: known }) => 'cursor' in known.shape);
    const queries = ['no-such-name=1', 'limit=1&limit=2', 'limit=0', 'limit=1e2', 'limit=501', 'limit=', 'cursor='];
    for (const url of lists.flatMap(({ path }) => queries.map((query) => `/api/v1${path}?${query}`))) {
      const answer = await send(consoleUrl, url, { headers: bearing('vera') });
      expect([url, answer.status]).toEqual([url, 400]);
      expectProblem(answer, 400, 'invalid');
    }
    expect(lists.length).toBeGreaterThan(5);
  });

  it('is not kept by browsers, and shown in no frame', async () => {
    const { consoleUrl } = await openJourney(sqlite);
    for (const headers of [bearing('vera'), {}]) {
      const answer = await send(consoleUrl, '/api/v1/installs', { headers });
      expect(answer.headers).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
  });
});
