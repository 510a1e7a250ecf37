import { describe, expect, it } from 'vitest';
import type { WantedFaults } from '../../src/sandbox/faults/faults-schema.ts';
import { until } from '../support/until.ts';
import { openWorld, request, type World } from './sandbox-harness.ts';

describe('a call', () => {
  it.each([
    ['rateLimited', 429, 'RATE_LIMITED'],
    ['unauthenticated', 401, 'UNAUTHORIZED'],
    ['forbidden', 403, 'FORBIDDEN'],
  ] as const)('that is to be %s is answered %i, and nothing comes of it', async (kind, status, code) => {
    const world = await openFaulty({ [kind]: { probability: 1, times: 1 } });
    const body = { externalProjectId: 'another' };
    const refused = await world.api('POST', '/project-links', { body });
    expect(refused).toMatchObject({ status, body: { code, requestId: expect.any(String) } });
    expect(world.sandbox.snapshot().projectLinks).toHaveLength(1);
    expect((await world.api('POST', '/project-links', { body })).status).toBe(201);
  });

  it('with a server error is answered 500 or 503, and has no effect', async () => {
    const world = await openFaulty({ serverError: 1 });
    const statuses = new Set<number>();
    for (let count = 0; count < 20; count++) {
      const body = { externalProjectId: `p${count}` };
      const answer = await world.api('POST', '/project-links', { body });
      expect(answer.body).toMatchObject({ code: 'INTERNAL_ERROR' });
      statuses.add(answer.status);
    }
    expect(statuses).toEqual(new Set([500, 503]));
    expect(world.sandbox.snapshot().projectLinks).toHaveLength(1);
  });

  it.each([
    [{ rateLimited: 1 }, '1'],
    [{ rateLimited: { probability: 1, retryAfterSeconds: 120 } }, '120'],
  ])('that is limited by %o must wait %s s', async (faults, seconds) => {
    const world = await openFaulty(faults);
    expect((await fetchContracts(world)).headers.get('retry-after')).toBe(seconds);
  });

  it('that is slow is answered after the set time', async () => {
    const world = await openFaulty({ slow: { probability: 1, ms: 150 } });
    const beganAtMs = performance.now();
    expect((await world.api('GET', '/contracts')).body.contracts).toHaveLength(4);
    expect(performance.now() - beganAtMs).toBeGreaterThanOrEqual(149);
  });

  it('that is slow ends when the caller disconnects, and does not delay a stop', async () => {
    const world = await openFaulty({ slow: { probability: 1, ms: 60_000 }, rateLimited: 1 });
    const signal = AbortSignal.timeout(50);
    await expect(fetchContracts(world, signal)).rejects.toThrow();
    const happened = () => world.sandbox.snapshot().faults.happened.map(({ fault }) => fault);
    // The second call follows the wait of the first.
    await until('both happened', happened, (seen) => seen.join() === 'slow,rateLimited');
    const cut = fetchContracts(world);
    cut.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    await world.sandbox.stop();
    await expect(cut).rejects.toThrow();
  });

  it('may take effect and be answered with a web page', async () => {
    const world = await openFaulty({ notJson: { probability: 1, times: 1 } });
    const response = await createLink(world);
    expect(response.status).toBe(201);
    expect(response.headers.get('content-type')).toContain('text/html');
    await expect(response.json()).rejects.toThrow(/JSON/);
    expect(world.sandbox.snapshot().projectLinks).toHaveLength(2);
  });

  it('may take effect and be cut off in the middle of its answer', async () => {
    const world = await openFaulty({ cutOff: { probability: 1, times: 1 } });
    const response = await createLink(world);
    expect(response.status).toBe(201);
    await expect(response.text()).rejects.toThrow();
    expect(world.sandbox.snapshot().projectLinks).toHaveLength(2);
    expect((await fetchContracts(world)).status).toBe(200);
  });

  it('without a valid token, or for the description, has no fault', async () => {
    const world = await openFaulty({ rateLimited: 1 });
    expect((await world.api('GET', '/contracts', { token: 'ot_ptk_wrong' })).status).toBe(401);
    expect((await request('GET', `${world.baseUrl}/openapi.json`)).status).toBe(200);
  });
});

describe('a list', () => {
  it('may be empty although there are entries', async () => {
    const world = await openFaulty({ empty: 1 });
    expect((await world.api('GET', '/contracts')).body).toEqual({ contracts: [] });
    expect((await world.api('GET', '/project-links')).body).toEqual({ projectLinks: [] });
    const path = `/contracts/${world.sandbox.snapshot().contracts[0]?.id}/participants`;
    expect((await world.api('GET', path)).body).toMatchObject({ participants: [] });
    expect(world.sandbox.snapshot().contracts).toHaveLength(4);
  });

  it('may have only its first half', async () => {
    const world = await openFaulty({ truncated: 1 });
    const whole = world.sandbox.snapshot().contracts.map(({ id }) => id);
    const { contracts } = (await world.api('GET', '/contracts')).body;
    expect(contracts.map(({ id }: { id: string }) => id)).toEqual(whole.toReversed().slice(0, 2));
  });

  it('that is empty stays as it is, and so does an answer without a list', async () => {
    const world = await openFaulty({ empty: 1, truncated: 1 });
    expect((await world.api('GET', '/webhook-endpoints')).body).toEqual({ webhookEndpoints: [] });
    expect((await world.api('GET', '/installs/current')).body.install.id).toBe(world.installId);
    expect(world.sandbox.snapshot().faults.happened).toEqual([]);
  });
});

describe('the faults of the API', () => {
  it('may be for some operations only, and for the next few calls', async () => {
    const world = await openFaulty({
      serverError: { probability: 1, times: 2, operations: ['GET /contracts'] },
    });
    const statuses = async (path: string) => (await world.api('GET', path)).status >= 500;
    expect(await statuses('/project-links')).toBe(false);
    expect(await statuses('/contracts')).toBe(true);
    expect(await statuses('/contracts?limit=1')).toBe(true);
    expect(await statuses('/contracts')).toBe(false);
    expect(world.sandbox.snapshot().faults.happened).toEqual([
      { fault: 'serverError', installId: world.installId, operation: 'GET /contracts' },
      { fault: 'serverError', installId: world.installId, operation: 'GET /contracts' },
    ]);
  });

  it('may be for one install, and change while it runs', async () => {
    const world = await openFaulty({});
    const other = world.sandbox.createInstall();
    const ask = async () => [
      (await world.api('GET', '/contracts')).status,
      (await world.api('GET', '/contracts', { token: other.token })).status,
    ];
    world.sandbox.setFaults(world.installId, { forbidden: 1 });
    expect(await ask()).toEqual([403, 200]);
    world.sandbox.setFaults(undefined, { rateLimited: 1 });
    expect(await ask()).toEqual([429, 429]);
    world.sandbox.setFaults(other.installId, {});
    expect(await ask()).toEqual([429, 200]);
    world.sandbox.setFaults(undefined);
    expect(await ask()).toEqual([200, 200]);
  });

  it('count `times` for each install, and anew when they are set anew', async () => {
    const world = await openFaulty({});
    const { token } = world.sandbox.createInstall();
    const once = { forbidden: { probability: 1, times: 1 } };
    const ask = async (call = {}) => (await world.api('GET', '/contracts', call)).status;
    world.sandbox.setFaults(undefined, once);
    expect([await ask(), await ask(), await ask({ token }), await ask({ token })]).toEqual([403, 200, 403, 200]);
    world.sandbox.setFaults(world.installId, once);
    expect([await ask(), await ask(), await ask({ token })]).toEqual([403, 200, 200]);
  });

  it('are the same with the same seed, whatever else is asked in between', async () => {
    const [first, same, other] = [await play('one', false), await play('one', true), await play('two', false)];
    expect(same).toEqual(first);
    expect(other).not.toEqual(first);
    expect(new Set(first)).toEqual(new Set([200, 403, 429]));

    async function play(seed: string, asksMore: boolean): Promise<number[]> {
      const world = await openFaulty({ rateLimited: 0.3, forbidden: 0.3 }, seed);
      const { token } = world.sandbox.createInstall();
      const statuses: number[] = [];
      for (let count = 0; count < 30; count++) {
        statuses.push((await world.api('GET', '/contracts')).status);
        if (!asksMore) continue;
        await world.api('GET', '/project-links');
        await world.api('GET', '/contracts', { token });
      }
      return statuses;
    }
  });
});

describe('faults', () => {
  it('may be set at the start', async () => {
    const { api, sandbox } = await openWorld({ faults: { forbidden: 1 } });
    expect((await api('GET', '/contracts')).status).toBe(403);
    expect(sandbox.snapshot().faults).toMatchObject({
      allInstalls: { forbidden: { probability: 1 } },
      installs: {},
    });
  });

  it('are set by HTTP, for one install or for all, and shown', async () => {
    const { url, sandbox, installId } = await openWorld();
    const set = (body: object) => request('POST', `${url}/sandbox/faults`, { body });
    const faults = { lose: 0.5, delay: { probability: 0.1, ms: 5 } };
    const inForce = { lose: { probability: 0.5 }, delay: { probability: 0.1, ms: 5 } };
    expect((await set({ faults })).body).toEqual({ installId: null, faults: inForce });
    const one = await set({ installId, faults: { empty: { probability: 1, times: 2 } } });
    expect(one.body).toEqual({ installId, faults: { empty: { probability: 1, times: 2 } } });
    expect(sandbox.snapshot().faults).toMatchObject({
      allInstalls: inForce,
      installs: { [installId]: { empty: { times: 2 } } },
    });
    expect((await set({})).body).toEqual({ installId: null, faults: {} });
    expect(sandbox.snapshot().faults).toEqual({ allInstalls: {}, installs: {}, happened: [] });
  });

  it.each([
    [{ faults: { lose: 1.1 } }, 400, /^faults\.lose\.probability: .*<=1/],
    [{ faults: { lose: -0.1 } }, 400, /^faults\.lose\.probability: .*>=0/],
    [{ faults: { lose: 'often' } }, 400, /^faults\.lose\.probability: .*number/],
    [{ faults: { loose: 0.1 } }, 400, /^faults: .*"loose"/],
    [{ faults: { delay: 0.3 } }, 400, /^faults\.delay: .*object/],
    [{ faults: { slow: { probability: 1 } } }, 400, /^faults\.slow\.ms: /],
    [{ faults: { corrupt: { probability: 1, times: 0 } } }, 400, /^faults\.corrupt\.times: /],
    [{ faults: { lose: { probability: 1, ms: 5 } } }, 400, /^faults\.lose: .*"ms"/],
    [
      { faults: { empty: { probability: 1, operations: ['GET /contract'] } } },
      400,
      /^faults\.empty\.operations: no operation "GET \/contract"; there are GET \/installs/,
    ],
    [{ lose: 0.1 }, 400, /"lose"/],
    [{ installId: 'ins_unknown', faults: {} }, 404, /ins_unknown/],
  ])('that are invalid are refused, and change nothing: %j', async (body, status, message) => {
    const { url, sandbox } = await openWorld({ faults: { forbidden: 1 } });
    const answer = await request('POST', `${url}/sandbox/faults`, { body });
    expect([answer.status, answer.body.error]).toEqual([status, expect.stringMatching(message)]);
    expect(sandbox.snapshot().faults.allInstalls).toEqual({ forbidden: { probability: 1 } });
  });

  it('that are invalid are refused in process, too', async () => {
    const { sandbox } = await openWorld();
    expect(() => sandbox.setFaults(undefined, { lose: Number.NaN })).toThrow(/lose/);
    expect(() => sandbox.setFaults('ins_unknown', {})).toThrow(/ins_unknown/);
  });
});

/** A link and four contracts, and then the faults are set. */
async function openFaulty(faults: WantedFaults, seed = 'test'): Promise<World> {
  const world = await openWorld({ seed });
  await world.link('a');
  for (let count = 0; count < 4; count++) world.sandbox.hire({ jobId: world.jobId });
  world.sandbox.setFaults(undefined, faults);
  return world;
}

function fetchContracts({ baseUrl, token }: World, signal?: AbortSignal): Promise<Response> {
  const headers = { authorization: `Bearer ${token}` };
  return fetch(`${baseUrl}/contracts`, { headers, ...(signal && { signal }) });
}

function createLink({ baseUrl, token }: World): Promise<Response> {
  return fetch(`${baseUrl}/project-links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ externalProjectId: 'another' }),
  });
}
