import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { platformEventTypes } from '../../../src/domain/event.ts';
import { createPlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { listenOnLoopback } from '../../support/http-fake.ts';
import type { MarketOptions } from '../../support/second-marketplace/market-state.ts';
import { openSecondMarketplace } from '../../support/second-marketplace/second-marketplace.ts';

const { signal } = new AbortController();
const minutes = 60_000;

async function open(options: Partial<MarketOptions> = {}) {
  const clock = createFakeClock();
  const market = await openSecondMarketplace({ clock, ...options });
  onTestFinished(() => market.stop());
  const { organizationId, token } = market.createInstall();
  const jobId = market.createJob(organizationId);
  async function call(method: string, path: string, body?: unknown) {
    const response = await fetch(`${market.baseUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && {
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the assertions check its content
    return { status: response.status, body: (await response.json()) as any };
  }
  async function link(externalProjectId: string, more = {}): Promise<string> {
    const { body } = await call('POST', '/project-links', { externalProjectId, jobId, ...more });
    return body.projectLink.id;
  }
  return { clock, market, jobId, call, link, api: createPlatformSource({ baseUrl: market.baseUrl, token }) };
}

/** A receiver that answers with `status`. */
async function listen() {
  const received: { body: string; headers: IncomingHttpHeaders }[] = [];
  const receiver = { url: '', status: 200, received, bodies: () => received.map(toEvent) };
  const server = createServer(async (request, response) => {
    received.push({ body: await text(request), headers: request.headers });
    response.writeHead(receiver.status).end();
  });
  receiver.url = `${await listenOnLoopback(server)}/`;
  return receiver;
}

const toEvent = ({ body }: { body: string }) => JSON.parse(body);

async function openListening() {
  const [opened, receiver] = [await open(), await listen()];
  const created = await opened.call('POST', '/webhook-endpoints', {
    url: receiver.url,
    eventTypes: platformEventTypes,
  });
  const { secret, webhookEndpoint } = created.body;
  const path = `/webhook-endpoints/${webhookEndpoint.id}`;
  const state = async () => (await opened.call('GET', path)).body.webhookEndpoint;
  async function pass(ms: number): Promise<number> {
    opened.clock.advance(ms);
    await opened.market.deliverDue();
    return receiver.received.length;
  }
  return { ...opened, receiver, secret, path, state, pass };
}

describe('the second marketplace', () => {
  it('shares no code with the sandbox, nor with the product', () => {
    const folder = 'test/support/second-marketplace';
    const imports = readdirSync(folder).flatMap((file) => {
      const source = readFileSync(`${folder}/${file}`, 'utf8');
      return [...source.matchAll(/from '([^']+)'/g)].map(([, name]) => name);
    });
    expect(imports.length).toBeGreaterThan(20);
    const others = imports.filter((name) => !/^(node:.*|\.\/[\w-]+\.ts)$/.test(name ?? ''));
    expect([...new Set(others)]).toEqual(['../random.ts']);
  });

  it('lists the newest contracts first, and cuts the list off without saying so', async () => {
    const { api, market, jobId, link, call } = await open();
    await link('signs');
    const ids = Array.from({ length: 201 }, (_, n) => market.hire(jobId, [`u${n}`])).reverse();
    market.end(ids[100] ?? '');
    const page = await api.listContracts({ status: 'active' }, signal);
    expect(page.isComplete).toBe(false);
    expect(page.contracts.map(({ id }) => id)).toEqual(ids.filter((_, n) => n !== 100));
    const all = await call('GET', '/contracts');
    expect(Object.keys(all.body)).toEqual(['contracts']);
    expect(all.body.contracts.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 50));
    for (const limit of ['0', '201', '1.5', 'x']) {
      expect(await call('GET', `/contracts?limit=${limit}`)).toMatchObject({ status: 400 });
    }
  });

  it('hides contracts and their trainers when their link is deleted', async () => {
    const { api, market, jobId, link, call } = await open();
    const linkId = await link('signs');
    const contractId = market.hire(jobId, ['u1']);
    expect(await call('DELETE', `/project-links/${linkId}`)).toMatchObject({
      body: { projectLink: { id: linkId }, deleted: true },
    });
    expect((await api.listContracts({ status: 'active' }, signal)).contracts).toEqual([]);
    for (const path of ['participants', 'budget']) {
      expect(await call('GET', `/contracts/${contractId}/${path}`)).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND', error: expect.any(String), requestId: expect.any(String) },
      });
    }
    expect((await call('GET', `/project-links/${linkId}`)).status).toBe(404);
  });

  it('refuses a link that exists already, one too many, or one to another customer’s job', async () => {
    const { market, call, link } = await open({ linksPerInstall: 2 });
    await link('signs');
    const create = (body: unknown) => call('POST', '/project-links', body);
    expect((await create({ externalProjectId: 'signs' })).body.code).toBe('CONFLICT');
    const foreign = market.createJob(market.createInstall().organizationId);
    expect((await create({ externalProjectId: 'a', jobId: foreign })).status).toBe(404);
    expect((await create({})).status).toBe(400);
    expect((await create('not json')).status).toBe(400);
    expect((await create({ externalProjectId: 'x'.repeat(201) })).status).toBe(400);
    expect((await create({ externalProjectId: 'a', provisioningMode: 'X' })).status).toBe(400);
    expect((await create({ externalProjectId: 'a' })).status).toBe(201);
    expect((await create({ externalProjectId: 'b' })).status).toBe(409);
  });

  it('refuses usage that is not right', async () => {
    const { market, jobId, link, call, clock } = await open();
    await link('signs');
    const id = market.hire(jobId, ['u1']);
    const workDate = clock.now().toISOString().slice(0, 10);
    const report = (...entries: object[]) => call('POST', `/contracts/${id}/usage`, { entries });
    const refused = [
      { totalSeconds: 86_401 },
      { totalSeconds: -1 },
      { workDate: '2026-02-30' },
      { workDate: '2099-01-01' },
      { workerOpentrainUserId: 'u2' },
    ];
    for (const entry of refused) expect((await report({ workDate, ...entry })).status).toBe(400);
    expect((await report(...Array.from({ length: 101 }, () => ({ workDate })))).status).toBe(400);
    market.replacePeople(id, []);
    expect((await report({ workDate })).status).toBe(409);
  });
});

describe('what the second marketplace delivers', () => {
  it('is signed afresh at each attempt, over the body as it is', async () => {
    const { market, jobId, link, receiver, secret, pass } = await openListening();
    const linkId = await link('signs');
    await pass(0);
    receiver.status = 500;
    const contractId = market.hire(jobId, ['u1']);
    await pass(0);
    await pass(minutes);
    const [, first, second] = receiver.received;
    const signature = String(second?.headers['x-opentrain-signature']);
    const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
    const expected = createHmac('sha256', secret).update(`${t}.${second?.body}`).digest('hex');
    expect(v1).toBe(expected);
    expect(signature).not.toBe(first?.headers['x-opentrain-signature']);
    expect(second?.headers['x-opentrain-delivery']).toBe(first?.headers['x-opentrain-delivery']);
    expect(second?.headers['x-opentrain-event']).toBe('contract.started');
    expect(receiver.bodies()[1]).toMatchObject({
      type: 'contract.started',
      apiVersion: 'v1',
      resourceId: contractId,
      jobId,
      data: {
        contract: { id: contractId, status: 'active', endDate: null },
        freelancer: { opentrainUserId: 'u1', workEmail: 'u1@opentrain.work' },
        projectLink: { id: linkId, externalProjectId: 'signs' },
      },
    });
  });

  it('is tried five times, after 1, 5, 30 and 120 minutes', async () => {
    const { link, receiver, pass, call, path } = await openListening();
    receiver.status = 404;
    await link('signs');
    const attempts: number[] = [await pass(0)];
    for (const wait of [1, 5, 30, 120]) {
      attempts.push(await pass(wait * minutes - 1), await pass(1));
    }
    expect(attempts).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5]);
    expect(await pass(24 * 60 * minutes)).toBe(5);
    receiver.status = 200;
    expect((await call('POST', `${path}/redeliver`, {})).body.requeued).toBe(1);
    expect(await pass(0)).toBe(6);
    const id = receiver.received[0]?.headers['x-opentrain-delivery'];
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect((await call('POST', `${path}/redeliver`, { deliveryId: id })).body.requeued).toBe(1);
    expect(await pass(0)).toBe(7);
  });

  it('ends after ten failures in a row, until the endpoint is enabled again', async () => {
    const { link, receiver, pass, call, path, state } = await openListening();
    receiver.status = 500;
    for (let n = 0; n < 12; n += 1) await link(`p${n}`);
    expect(await pass(0)).toBe(10);
    expect(await state()).toMatchObject({
      status: 'DISABLED',
      consecutiveFailures: 10,
      disabledAt: expect.any(String),
      disabledReason: expect.any(String),
    });
    receiver.status = 200;
    await link('unheard');
    expect(await pass(60 * minutes)).toBe(10);
    await call('PATCH', path, { status: 'ACTIVE' });
    expect(await state()).toMatchObject({ status: 'ACTIVE', consecutiveFailures: 0 });
    expect(await pass(60 * minutes)).toBe(10);
    expect((await call('POST', `${path}/redeliver`, {})).body.requeued).toBe(12);
    expect(await pass(0)).toBe(22);
  });

  it('is of the subscribed types only, and ends with the endpoint', async () => {
    const { call, link, market, jobId, pass, receiver, path } = await openListening();
    await call('PATCH', path, { eventTypes: ['contract.ended'] });
    await link('signs');
    market.end(market.hire(jobId, ['u1']));
    await pass(0);
    expect(receiver.bodies().map(({ type }) => type)).toEqual(['contract.ended']);
    await call('DELETE', path);
    market.hire(jobId, ['u2']);
    expect(await pass(60 * minutes)).toBe(1);
  });

  it.each([
    [{ url: 'http://bridge.example/', eventTypes: ['contract.ended'] }],
    [{ eventTypes: ['contract.ended'] }],
    [{ url: 'https://bridge.example/', eventTypes: [] }],
    [{ url: 'https://bridge.example/', eventTypes: ['contract.paused'] }],
  ])('needs an endpoint unlike %j', async (body) => {
    const { call } = await open();
    expect((await call('POST', '/webhook-endpoints', body)).status).toBe(400);
  });
});
