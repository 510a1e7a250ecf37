import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { platformEventTypes } from '../../../src/domain/event.ts';
import { createPlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { listenOnLoopback } from '../../support/http-fake.ts';
import type { MarketOptions } from '../../support/second-marketplace/market-state.ts';
import { openSecondMarketplace } from '../../support/second-marketplace/second-marketplace.ts';

const { signal } = new AbortController();
const minutes = 60_000;

async function open(options: Partial<MarketOptions> = {}, wanted = {}) {
  const clock = createFakeClock();
  const market = await openSecondMarketplace({ clock, ...options });
  onTestFinished(() => market.stop());
  const connection = market.createInstall(wanted);
  const jobId = market.createJob(connection.organizationId);
  async function call(method: string, path: string, body?: unknown, token = connection.token) {
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
  const apiOf = (token: string) => createPlatformSource({ baseUrl: market.baseUrl, token });
  return { clock, market, connection, jobId, call, link, apiOf, api: apiOf(connection.token) };
}

/** A receiver that answers with `status`. */
async function listen() {
  const received: { body: string; headers: IncomingHttpHeaders }[] = [];
  const receiver = { url: '', status: 200, received, bodies: () => received.map(toEvent) };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    received.push({ body: Buffer.concat(chunks).toString(), headers: request.headers });
    response.writeHead(receiver.status).end();
  });
  receiver.url = `${await listenOnLoopback(server)}/`;
  return receiver;
}

const toEvent = ({ body }: { body: string }) => JSON.parse(body);

async function openListening(options: Partial<MarketOptions> = {}, wanted = {}) {
  const [opened, receiver] = [await open(options, wanted), await listen()];
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

  it('serves its contract without a token, with all 15 operations', async () => {
    const { market } = await open();
    const response = await fetch(`${market.baseUrl}/openapi.json`);
    const { paths } = (await response.json()) as { paths: Record<string, object> };
    const served = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(served).toHaveLength(15);
    expect(served).toContain('post /contracts/{resourceId}/usage');
  });

  it('answers the client’s reads', async () => {
    const { api, market, connection, jobId, link } = await open();
    expect(await api.readGrant(signal)).toMatchObject({ id: connection.installId, status: 'ACTIVE' });
    const [first, second] = [await link('signs'), await link('lanes', { jobId: undefined })];
    const links = await api.listLinks(signal);
    expect(links.map(({ id }) => id)).toEqual([second, first]);
    expect(await api.readLink(first, signal)).toMatchObject({
      id: first,
      externalProjectId: 'signs',
      externalProjectName: null,
      provisioningMode: 'PARTNER_WEBHOOK',
    });
    const contractId = market.hire(jobId, ['u1', 'u2'], { title: 'Signs' });
    const contract = { id: contractId, title: 'Signs', projectLinkIds: [first] };
    expect(await api.listContracts({ status: 'active' }, signal)).toMatchObject({
      contracts: [{ ...contract, status: 'active' }],
      isComplete: true,
    });
    const ofLink = { status: 'active', projectLinkId: second } as const;
    expect((await api.listContracts(ofLink, signal)).contracts).toEqual([]);
    const people = await api.listParticipants(contractId, signal);
    expect(people.map(({ workEmail }) => workEmail)).toEqual(['u1@opentrain.work', 'u2@opentrain.work']);
    market.end(contractId);
    expect((await api.listContracts({ status: 'active' }, signal)).contracts).toEqual([]);
    expect((await api.listContracts({ status: 'ended' }, signal)).contracts).toMatchObject([
      { ...contract, status: 'ended' },
    ]);
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

  it('has cursors if they are switched on', async () => {
    const { api, market, jobId, link, connection, call } = await open({ hasCursors: true });
    await link('signs');
    const otherJob = market.createJob(connection.organizationId);
    await link('lanes', { jobId: otherJob });
    const ids = Array.from({ length: 401 }, (_, n) => market.hire(n % 3 === 0 ? otherJob : jobId, [`u${n}`]));
    const page = await api.listContracts({ status: 'active' }, signal);
    expect(page.contracts.map(({ id }) => id)).toEqual(ids.reverse());
    expect(page.isComplete).toBe(true);
    expect((await call('GET', '/contracts?limit=200')).body.nextCursor).toEqual(expect.any(String));
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

  it('refuses what the token may not do', async () => {
    const { call } = await open({}, { scopes: ['project-links:write'] });
    expect((await call('GET', '/project-links')).status).toBe(200);
    expect((await call('GET', '/installs/current')).status).toBe(200);
    expect((await call('GET', '/contracts')).body.code).toBe('FORBIDDEN');
    expect((await call('GET', '/webhook-endpoints')).status).toBe(403);
    expect((await call('GET', '/installs/current', undefined, 'ot_ptk_none')).status).toBe(401);
  });

  it.each([
    ['the scope', { scopes: ['contracts:read', 'participants:read', 'project-links:write'] }],
    ['the consent', { piiConsent: false }],
  ])('leaves the address out without %s', async (_, wanted) => {
    const { market, jobId, link, call } = await open({}, wanted);
    await link('signs');
    const id = market.hire(jobId, ['u1']);
    const { body } = await call('GET', `/contracts/${id}/participants`);
    expect(Object.keys(body.participants[0])).not.toContain('workEmail');
  });

  it('keeps links and endpoints with the old install when the customer reconnects', async () => {
    const { market, connection, link, call, receiver, pass } = await openListening();
    await link('signs');
    await pass(0);
    const { installId, token, organizationId } = market.reconnect(connection.installId);
    expect(organizationId).toBe(connection.organizationId);
    expect(installId).not.toBe(connection.installId);
    expect((await call('GET', '/project-links')).status).toBe(401);
    expect((await call('GET', '/project-links', undefined, token)).body).toEqual({
      projectLinks: [],
    });
    expect((await call('GET', '/webhook-endpoints', undefined, token)).body).toEqual({
      webhookEndpoints: [],
    });
    await pass(0);
    expect(receiver.bodies().at(-1)).toMatchObject({ type: 'install.revoked', resourceId: connection.installId });
  });

  it('answers 401 for a revoked token and 403 for a revoked install', async () => {
    const { market, connection, call } = await open();
    const other = market.createInstall();
    market.revokeToken(connection.installId);
    market.revokeInstall(other.installId);
    expect((await call('GET', '/installs/current')).body.code).toBe('UNAUTHORIZED');
    expect((await call('GET', '/installs/current', undefined, other.token)).status).toBe(403);
  });

  it('takes usage as totals that replace each other', async () => {
    const { market, jobId, link, call, clock } = await open();
    await link('signs');
    const id = market.hire(jobId, ['u1'], { paymentType: 'PAY_PER_HOUR' });
    market.fund(id, { amountUsd: 100, volume: 10 });
    const workDate = clock.now().toISOString().slice(0, 10);
    const report = (entry: object) => call('POST', `/contracts/${id}/usage`, { entries: [{ workDate, ...entry }] });
    await report({ totalSeconds: 3600, tasksCompleted: 5 });
    const { body } = await report({ totalSeconds: 8 * 3600, workerOpentrainUserId: 'u1' });
    expect(body).toMatchObject({ contractId: id, accepted: 1 });
    expect(body.budget).toMatchObject({
      state: 'LOW',
      consumed: { seconds: 28_800, hours: 8, labels: 0, tasks: 5 },
      fundedVolume: 10,
      remainingVolume: 2,
      consumedFraction: 0.8,
    });
    const refused = [
      { totalSeconds: 86_401 },
      { totalSeconds: -1 },
      { workDate: '2026-02-30' },
      { workDate: '2099-01-01' },
      { workerOpentrainUserId: 'u2' },
    ];
    for (const entry of refused) expect((await report(entry)).status).toBe(400);
    const many = Array.from({ length: 101 }, () => ({ workDate }));
    expect((await call('POST', `/contracts/${id}/usage`, { entries: many })).status).toBe(400);
    market.replacePeople(id, []);
    expect((await report({})).status).toBe(409);
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

  it('refuses more endpoints than an install may have', async () => {
    const { call } = await open({ endpointsPerInstall: 1 });
    const body = { url: 'https://bridge.example/', eventTypes: ['contract.ended'] };
    expect((await call('POST', '/webhook-endpoints', body)).status).toBe(201);
    expect((await call('POST', '/webhook-endpoints', body)).status).toBe(409);
  });

  it('announces each level of a budget once, until it is funded again', async () => {
    const { market, jobId, link, call, clock, pass, receiver } = await openListening();
    await link('signs');
    const id = market.hire(jobId, ['u1'], { paymentType: 'PAY_PER_LABEL' });
    market.fund(id, { amountUsd: 10, volume: 10 });
    const workDate = clock.now().toISOString().slice(0, 10);
    for (const labelsCompleted of [8, 9, 10, 8, 10]) {
      await call('POST', `/contracts/${id}/usage`, { entries: [{ workDate, labelsCompleted }] });
    }
    market.fund(id, { amountUsd: 10, volume: 20 });
    await call('POST', `/contracts/${id}/usage`, { entries: [{ workDate, labelsCompleted: 16 }] });
    await pass(0);
    const types = receiver.bodies().map(({ type }) => type);
    const announced = types.filter((type) => type.startsWith('milestone.'));
    const [funded, low] = ['milestone.funded', 'milestone.budget_low'];
    expect(announced).toEqual([funded, low, 'milestone.budget_depleted', funded, low]);
  });
});
