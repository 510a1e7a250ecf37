import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { AppError } from '../../../src/domain/errors.ts';
import { createPlatformSource } from '../../../src/sources/platform/create-platform-source.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';

const token = 'ot_ptk_secret-of-acme';
const { signal } = new AbortController();

const contract = { id: 'c1', status: 'active', title: 'Signs', projectLinkIds: ['l1'] };

/** A marketplace that gives its answers in turn, and repeats the last one. */
async function open(...answers: ((response: ServerResponse) => void)[]) {
  const fake = await openHttpFake((_request, response, count) => {
    const answer = answers[Math.min(count, answers.length) - 1];
    answer?.(response);
  });
  const api = createPlatformSource({ baseUrl: `${fake.url}/api/partner/v1`, token, timeoutMs: 1000 });
  return { api, ...fake };
}

const json =
  (body: unknown, status = 200, headers = {}) =>
  (response: ServerResponse) =>
    sendJson(response, body, status, headers);

async function failureOf(promise: Promise<unknown>): Promise<AppError> {
  const failure = await promise.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: unknown) => error as AppError,
  );
  expect(JSON.stringify([failure.message, String(failure.stack), failure.cause])).not.toContain('secret-of-acme');
  return failure;
}

describe('the platform API', () => {
  it('lists the links', async () => {
    const link = { id: 'l1', externalProjectId: 'signs', externalProjectName: 'Signs', extra: 1 };
    const { api, requests } = await open(json({ projectLinks: [link, { ...link, id: 7 }] }));
    const attributes = { externalProjectId: 'signs', externalProjectName: 'Signs' };
    expect(await api.listLinks(signal)).toEqual([
      { id: 'l1', ...attributes, provisioningMode: null },
      { id: '7', ...attributes, provisioningMode: null },
    ]);
    expect(requests).toEqual([{ line: 'GET /api/partner/v1/project-links', authorization: `Bearer ${token}` }]);
  });

  it('asks for as many contracts as a page may hold', async () => {
    const { api, requests } = await open(json({ contracts: [contract] }));
    expect(await api.listContracts({ status: 'active' }, signal)).toEqual({
      contracts: [contract],
      isComplete: true,
    });
    await api.listContracts({ status: 'ended', projectLinkId: 'a&b=c/d' }, signal);
    expect(requests.map(({ line }) => line)).toEqual([
      'GET /api/partner/v1/contracts?status=active&limit=200',
      'GET /api/partner/v1/contracts?status=ended&limit=200&projectLinkId=a%26b%3Dc%2Fd',
    ]);
  });

  it('follows the cursor where there is one', async () => {
    const { api, requests } = await open(
      json({ contracts: [contract], nextCursor: 'page&2' }),
      json({ contracts: [{ ...contract, id: 'c2' }], nextCursor: null }),
    );
    const { contracts, isComplete } = await api.listContracts({ status: 'active' }, signal);
    expect(contracts.map(({ id }) => id)).toEqual(['c1', 'c2']);
    expect(isComplete).toBe(true);
    expect(requests[1]?.line).toBe('GET /api/partner/v1/contracts?status=active&limit=200&cursor=page%262');
  });

  it.each([
    [199, true],
    [200, false],
  ])('takes a page of %i contracts for complete: %s', async (count, isComplete) => {
    const contracts = Array.from({ length: count }, (_, id) => ({ ...contract, id: `c${id}` }));
    const { api } = await open(json({ contracts }));
    expect(await api.listContracts({ status: 'active' }, signal)).toMatchObject({ isComplete });
  });

  it('keeps a contract id within its segment of the path', async () => {
    const { api, requests } = await open(json({ participants: [] }));
    await api.listParticipants('../installs/current?x=#', signal);
    expect(requests[0]?.line).toBe('GET /api/partner/v1/contracts/..%2Finstalls%2Fcurrent%3Fx%3D%23/participants');
  });

  it.each(['', '.', '..'])('knows that nothing has the id %j, without asking', async (id) => {
    const { api, requests } = await open(json({ participants: [] }));
    expect(await failureOf(api.listParticipants(id, signal))).toMatchObject({ code: 'not_found' });
    expect(requests).toEqual([]);
  });

  it('reads what it can of a participant', async () => {
    const { api } = await open(
      json({
        participants: [
          { opentrainUserId: 'u1', displayName: 'Amara O.', workEmail: 'a@opentrain.work' },
          { opentrainUserId: 'u2', displayName: 7, workEmail: 'not an address' },
        ],
      }),
    );
    expect(await api.listParticipants('c1', signal)).toEqual([
      { opentrainUserId: 'u1', displayName: 'Amara O.', workEmail: 'a@opentrain.work' },
      { opentrainUserId: 'u2', displayName: null, workEmail: null },
    ]);
  });

  it.each([
    ['{}', {}],
    ['a list of nothing known', { projectLinks: [{}] }],
    ['null', null],
    ['a text', 'ok'],
    ['links that are no list', { projectLinks: {} }],
    ['a link without its project', { projectLinks: [{ id: 'l1' }] }],
  ])('never takes %s for an empty list', async (_, body) => {
    const { api } = await open(json(body));
    expect(await failureOf(api.listLinks(signal))).toMatchObject({
      code: 'invalid',
      message: 'Could not list the project links: the answer is not what was expected',
    });
  });

  it.each([
    [400, 'invalid', {}],
    [401, 'unauthenticated', {}],
    [403, 'forbidden', {}],
    [404, 'not_found', {}],
    [409, 'conflict', {}],
    [429, 'rate_limited', { 'retry-after': '7' }],
    [503, 'unavailable', { 'retry-after': '7' }],
  ])('reports %i as %s after the first attempt', async (status, code, headers) => {
    const body = { error: `no, ${token}`, code: 'X', requestId: 'req_1' };
    const { api, requests } = await open(json(body, status, headers));
    const failure = await failureOf(api.listParticipants('c1', signal));
    expect(failure).toMatchObject({ code, status, requestId: 'req_1' });
    expect(failure.retryAfterMs).toBe('retry-after' in headers ? 7000 : undefined);
    expect(requests).toHaveLength(1);
  });

  it('asks again after a 500, a few times', async () => {
    const recovers = await open(json({}, 500), json({ projectLinks: [] }));
    expect(await recovers.api.listLinks(signal)).toEqual([]);
    const stays = await open(json({}, 502));
    expect(await failureOf(stays.api.listLinks(signal))).toMatchObject({ code: 'unavailable', status: 502 });
    expect(stays.requests).toHaveLength(3);
  });

  it('never sends its token to where it is redirected', async () => {
    const elsewhere = await openHttpFake((_request, response) => {
      sendJson(response, { projectLinks: [] });
    });
    for (const status of [301, 302, 307, 308]) {
      const location = `${elsewhere.url}/project-links`;
      const { api } = await open(json({}, status, { location }));
      const failure = await failureOf(api.listLinks(signal));
      expect(failure).toMatchObject({ code: 'invalid', status });
    }
    expect(elsewhere.requests).toEqual([]);
  });

  it('gives up on an answer that does not come', async () => {
    const fake = await openHttpFake(() => undefined);
    const api = createPlatformSource({ baseUrl: fake.url, token, timeoutMs: 30 });
    expect(await failureOf(api.listLinks(signal))).toMatchObject({
      code: 'unavailable',
      message: 'Could not list the project links: no answer within 30 ms',
    });
  });

  it('ends at once when it is stopped', async () => {
    const fake = await openHttpFake(() => undefined);
    const stopping = new AbortController();
    const api = createPlatformSource({ baseUrl: fake.url, token });
    const listing = api.listLinks(stopping.signal);
    stopping.abort();
    await failureOf(listing);
    expect(fake.requests.length).toBeLessThanOrEqual(1);
  });

  it('reads an answer only up to a limit', async () => {
    const chunk = Buffer.alloc(1024 * 1024, ' ');
    let sent = 0;
    const { api } = await open((response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && sent < 64 && response.write(chunk)) sent += 1;
      };
      response.on('drain', more);
      more();
    });
    expect(await failureOf(api.listLinks(signal))).toMatchObject({
      code: 'invalid',
      message: 'Could not list the project links: the answer is over 8388608 bytes',
    });
    expect(sent).toBeLessThan(64);
  });

  it('says so when the answer is not JSON', async () => {
    const { api } = await open((response) => response.end('<html>'));
    expect(await failureOf(api.listLinks(signal))).toMatchObject({
      code: 'invalid',
      message: 'Could not list the project links: the answer is not JSON',
    });
  });
});
