import { beforeEach, describe, expect, it } from 'vitest';
import { createPlatformSource, type PlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import type { NewLink } from '../../../src/marketplace/source.ts';
import { sandboxEventTypes, type scopes } from '../../../src/sandbox/platform-answer-schema.ts';
import { clock, openWorld, today, type World } from '../../sandbox/sandbox-harness.ts';
import { failureOf, signal } from '../failure-of.ts';

const hookUrl = 'https://bridge.example.com/webhooks/acme';

interface Ready extends World {
  linkId: string;
  contractId: string;
  trainerId: string;
  endpointId: string;
}

/** Every operation that needs a token, with the scope that the specification demands. */
const operations: [
  keyof PlatformSource,
  (typeof scopes)[number] | null,
  (api: PlatformSource, at: Ready) => Promise<unknown>,
][] = [
  ['readGrant', null, (api) => api.readGrant(signal)],
  ['createLink', 'project-links:write', (api) => api.createLink({ externalProjectId: 'another' }, signal)],
  ['listLinks', 'project-links:read', (api) => api.listLinks(signal)],
  ['readLink', 'project-links:read', (api, { linkId }) => api.readLink(linkId, signal)],
  ['deleteLink', 'project-links:write', (api, { linkId }) => api.deleteLink(linkId, signal)],
  ['listContracts', 'contracts:read', (api) => api.listContracts({ status: 'active' }, signal)],
  ['listParticipants', 'participants:read', (api, { contractId }) => api.listParticipants(contractId, signal)],
  ['readBudget', 'contracts:read', (api, { contractId }) => api.readBudget(contractId, signal)],
  ['reportUsage', 'usage:write', (api, { contractId }) => api.reportUsage(contractId, [{ workDate: today }], signal)],
  ['listEndpoints', 'webhooks:manage', (api) => api.listEndpoints(signal)],
  ['readEndpoint', 'webhooks:manage', (api, { endpointId }) => api.readEndpoint(endpointId, signal)],
  [
    'createEndpoint',
    'webhooks:manage',
    (api) => api.createEndpoint({ url: hookUrl, eventTypes: ['contract.ended'] }, signal),
  ],
  [
    'updateEndpoint',
    'webhooks:manage',
    (api, { endpointId }) => api.updateEndpoint(endpointId, { url: hookUrl }, signal),
  ],
  ['deleteEndpoint', 'webhooks:manage', (api, { endpointId }) => api.deleteEndpoint(endpointId, signal)],
  ['redeliver', 'webhooks:manage', (api, { endpointId }) => api.redeliver(endpointId, undefined, signal)],
];

/** The operations about one record, which must exist. */
const ofOneThing = operations.filter(([, , run]) => run.length === 2);

const requestId = expect.stringMatching(/^req_/);
let world: Ready;
let api: PlatformSource;

/** A link with a contract, and an endpoint without a receiver. */
beforeEach(async () => {
  const opened = await openWorld({ clock, endpointsPerInstall: 2, linksPerInstall: 3 });
  const linkId = await opened.link('signs');
  const { contractId, trainers } = opened.sandbox.hire({ jobId: opened.jobId });
  const { id: endpointId } = await opened.subscribe('http://127.0.0.1:9/hook');
  const trainerId = trainers[0]?.opentrainUserId ?? '';
  world = { ...opened, linkId, contractId, trainerId, endpointId };
  api = createApi(opened.token);
});

const createApi = (token: string) => createPlatformSource({ baseUrl: world.baseUrl, token });

describe.each(operations)('%s', (_, scope, run) => {
  it('succeeds', async () => {
    await run(api, world);
  });

  it('is forbidden to a token without its scope, and to one of a revoked install', async () => {
    const { token } = world.sandbox.createInstall({ tokenScopes: ['participants:email'] });
    if (scope !== null) {
      const refused = await failureOf(run(createApi(token), world));
      expect(refused).toMatchObject({ code: 'forbidden', status: 403, requestId });
      expect(refused.message).toContain(scope);
    }
    world.sandbox.revokeInstall(world.installId);
    expect(await failureOf(run(api, world))).toMatchObject({ code: 'forbidden', status: 403 });
  });

  it('is refused to a revoked token', async () => {
    world.sandbox.revokeToken(world.installId);
    const refused = { code: 'unauthenticated', status: 401, requestId };
    expect(await failureOf(run(api, world))).toMatchObject(refused);
  });

  it('is paused once when it is rate limited', async () => {
    world.sandbox.setFaults(undefined, {
      rateLimited: { probability: 1, times: 1, retryAfterSeconds: 0 },
    });
    const refused = { code: 'rate_limited', status: 429, retryAfterMs: 0, requestId };
    expect(await failureOf(run(api, world))).toMatchObject(refused);
    await run(api, world);
  });
});

it.each(ofOneThing)('%s finds nothing of another customer', async (_, __, run) => {
  const { token } = world.sandbox.createInstall();
  const refused = { code: 'not_found', status: 404, requestId };
  expect(await failureOf(run(createApi(token), world))).toMatchObject(refused);
});

describe('the install', () => {
  it('is read with what its token may do', async () => {
    const { token, installId, organizationId } = world.sandbox.createInstall({
      piiConsent: false,
      tokenScopes: ['contracts:read'],
    });
    expect(await createApi(token).readGrant(signal)).toEqual({
      id: installId,
      status: 'ACTIVE',
      organizationId,
      piiConsent: false,
      partnerApp: { id: 'app_sandbox' },
      scopes: expect.arrayContaining(['usage:write']),
      token: { id: expect.any(String), name: 'sandbox', scopes: ['contracts:read'] },
    });
  });
});

describe('a project link', () => {
  const wanted: NewLink = {
    externalProjectId: 'lanes',
    externalProjectName: 'Lanes',
    externalProjectUrl: 'https://tool.example.com/lanes',
    provisioningMode: 'MANAGED_ADAPTER',
  };

  it('is created, found, and deleted for good', async () => {
    const link = await api.createLink({ ...wanted, jobId: world.jobId }, signal);
    const createdAt = `${today}T12:00:00.000Z`;
    expect(link).toEqual({ id: link.id, ...wanted, jobId: world.jobId, createdAt });
    expect(await api.readLink(link.id, signal)).toEqual(link);
    expect(await api.listLinks(signal)).toMatchObject([link, { id: world.linkId }]);
    await api.deleteLink(link.id, signal);
    const gone = { code: 'not_found', status: 404 };
    expect(await failureOf(api.readLink(link.id, signal))).toMatchObject(gone);
    expect(await failureOf(api.deleteLink(link.id, signal))).toMatchObject(gone);
  });

  it.each([
    ['an id that is linked already', { externalProjectId: 'signs' }, 'conflict', 409],
    ['a job of another customer', { externalProjectId: 'x', jobId: 'job_x' }, 'not_found', 404],
    ['an id that is too long', { externalProjectId: 'x'.repeat(201) }, 'invalid', 400],
  ])('is not created for %s', async (__, refusedLink, code, status) => {
    const refused = await failureOf(api.createLink(refusedLink, signal));
    expect(refused).toMatchObject({ code, status, requestId });
    expect(world.sandbox.snapshot().projectLinks).toHaveLength(1);
  });

  it('is not created beyond the limit', async () => {
    for (const id of ['b', 'c']) await api.createLink({ externalProjectId: id }, signal);
    const refused = await failureOf(api.createLink(wanted, signal));
    expect(refused).toMatchObject({ code: 'conflict', status: 409 });
  });

  it('that was created although the answer was lost is found', async () => {
    world.sandbox.setFaults(undefined, {
      cutOff: { probability: 1, times: 1, operations: ['POST /project-links'] },
    });
    expect(await api.createLink(wanted, signal)).toMatchObject(wanted);
    expect(world.sandbox.snapshot().projectLinks).toHaveLength(2);
  });

  it.each([
    ['without a job', { externalProjectId: 'signs' }, false],
    ['in another mode', { externalProjectId: 'signs', provisioningMode: 'MANAGED_ADAPTER' }, true],
    ['beyond the limit', { externalProjectId: 'lanes' }, true],
  ] as const)('that was there before is not taken for one %s', async (__, other, hasJob) => {
    for (const id of ['b', 'c']) await world.link(id);
    const operations = ['POST /project-links'];
    world.sandbox.setFaults(undefined, { serverError: { probability: 1, times: 1, operations } });
    const asked = { ...other, ...(hasJob && { jobId: world.jobId }) };
    const refused = await failureOf(api.createLink(asked, signal));
    expect(refused).toMatchObject({ code: 'conflict', status: 409 });
  });

  it('that was deleted before its answer was lost is deleted', async () => {
    world.sandbox.setFaults(undefined, { cutOff: { probability: 1, times: 1 } });
    await api.deleteLink(world.linkId, signal);
    expect(world.sandbox.snapshot().projectLinks).toEqual([]);
  });
});

describe('a contract', () => {
  it('is listed with its days and links', async () => {
    world.sandbox.endContract(world.contractId);
    const { contracts, isComplete } = await api.listContracts({ status: 'ended' }, signal);
    expect(isComplete).toBe(true);
    expect(contracts).toMatchObject([
      {
        id: world.contractId,
        status: 'ended',
        jobId: world.jobId,
        projectLinkIds: [world.linkId],
        startDate: `${today}T12:00:00.000Z`,
        endDate: expect.stringContaining(today),
      },
    ]);
  });

  it('takes usage as totals, answers its budget, and takes the same report again', async () => {
    world.sandbox.fundMilestone(world.contractId, { volume: 10, amountUsd: 200 });
    const entries = [
      { workDate: '2026-03-14', totalSeconds: 0, tasksCompleted: 0, labelsCompleted: 0 },
      { workDate: today, totalSeconds: 28_800, workerOpentrainUserId: world.trainerId },
    ];
    const first = await api.reportUsage(world.contractId, entries, signal);
    expect(first).toMatchObject({
      contractId: world.contractId,
      accepted: 2,
      budget: { state: 'LOW', consumed: { seconds: 28_800, hours: 8 }, remainingVolume: 2 },
    });
    expect(await api.reportUsage(world.contractId, entries, signal)).toEqual(first);
    expect(await api.readBudget(world.contractId, signal)).toEqual({
      ...first.budget,
      paymentType: 'PAY_PER_HOUR',
      fundedVolume: 10,
      fundedAmountUsd: 200,
      consumedVolume: 8,
      consumedFraction: 0.8,
      activeMilestone: expect.objectContaining({ volume: 10, amountUsd: 200 }),
      lastUsageAt: `${today}T12:00:00.000Z`,
    });
  });

  it.each([
    ['a day to come', { workDate: '2026-03-16' }],
    ['a day that is none', { workDate: '15.3.2026' }],
    ['more than a day has', { workDate: today, totalSeconds: 86_401 }],
    ['less than nothing', { workDate: today, tasksCompleted: -1 }],
    ['another trainer', { workDate: today, workerOpentrainUserId: 'usr_x' }],
  ])('refuses usage of %s, and everything sent with it', async (__, entry) => {
    const entries = [{ workDate: today, totalSeconds: 60 }, entry];
    const refused = await failureOf(api.reportUsage(world.contractId, entries, signal));
    expect(refused).toMatchObject({ code: 'invalid', status: 400, requestId });
    const { consumed } = await api.readBudget(world.contractId, signal);
    expect(consumed?.seconds).toBe(0);
  });

  it('accepts 1 to 100 entries', async () => {
    for (const length of [0, 101]) {
      const entries = Array.from({ length }, () => ({ workDate: today }));
      const refused = await failureOf(api.reportUsage(world.contractId, entries, signal));
      expect(refused).toMatchObject({ code: 'invalid', status: 400 });
    }
  });

  it('refuses usage if no trainer is hired', async () => {
    const { contractId } = world.sandbox.hire({ jobId: world.jobId, trainers: [] });
    const refused = await failureOf(api.reportUsage(contractId, [{ workDate: today }], signal));
    expect(refused).toMatchObject({ code: 'conflict', status: 409, requestId });
  });

  it('that is no longer linked is not found', async () => {
    await api.deleteLink(world.linkId, signal);
    expect(await api.listContracts({ status: 'active' }, signal)).toMatchObject({ contracts: [] });
    const { contractId } = world;
    const calls = [
      () => api.readBudget(contractId, signal),
      () => api.listParticipants(contractId, signal),
      () => api.reportUsage(contractId, [{ workDate: today }], signal),
    ];
    for (const call of calls) expect(await failureOf(call())).toMatchObject({ code: 'not_found' });
  });

  it('takes usage once if the first answer was lost', async () => {
    world.sandbox.setFaults(undefined, { cutOff: { probability: 1, times: 1 } });
    const entries = [{ workDate: today, totalSeconds: 60 }];
    const { budget } = await api.reportUsage(world.contractId, entries, signal);
    expect(budget?.consumed?.seconds).toBe(60);
  });
});

describe('a webhook endpoint', () => {
  const wanted = { url: hookUrl, eventTypes: ['contract.ended', 'contract.started'] };

  it('is created with its secret, found, changed, and deleted', async () => {
    const { endpoint, secret } = await api.createEndpoint(wanted, signal);
    expect(secret).toMatch(/^whsec_/);
    expect(endpoint).toEqual({
      id: endpoint.id,
      ...wanted,
      status: 'ACTIVE',
      createdAt: `${today}T12:00:00.000Z`,
      consecutiveFailures: 0,
      disabledAt: null,
      disabledReason: null,
    });
    expect(await api.readEndpoint(endpoint.id, signal)).toEqual(endpoint);
    const listed = [endpoint, { id: world.endpointId }];
    expect(await api.listEndpoints(signal)).toMatchObject(listed);
    const disabled = { ...endpoint, status: 'DISABLED', disabledReason: 'Disabled by request' };
    expect(await api.updateEndpoint(endpoint.id, { status: 'DISABLED' }, signal)).toMatchObject({
      ...disabled,
      disabledAt: `${today}T12:00:00.000Z`,
    });
    const changes = { status: 'ACTIVE', eventTypes: sandboxEventTypes, url: `${hookUrl}/2` } as const;
    const changed = await api.updateEndpoint(endpoint.id, changes, signal);
    expect(changed).toEqual({ ...endpoint, ...changes });
    await api.deleteEndpoint(endpoint.id, signal);
    const gone = await failureOf(api.readEndpoint(endpoint.id, signal));
    expect(gone).toMatchObject({ code: 'not_found', status: 404 });
  });

  it.each([
    ['http elsewhere', { url: 'http://bridge.example.com/', eventTypes: ['contract.ended'] }],
    ['no event', { url: hookUrl, eventTypes: [] }],
    ['an event that is none', { url: hookUrl, eventTypes: ['contract.paused'] }],
  ])('is neither created for nor changed to %s', async (__, refused) => {
    const failure = { code: 'invalid', status: 400, requestId };
    expect(await failureOf(api.createEndpoint(refused, signal))).toMatchObject(failure);
    const update = api.updateEndpoint(world.endpointId, refused, signal);
    expect(await failureOf(update)).toMatchObject(failure);
  });

  it('is not created beyond the limit', async () => {
    await api.createEndpoint(wanted, signal);
    const refused = await failureOf(api.createEndpoint(wanted, signal));
    expect(refused).toMatchObject({ code: 'conflict', status: 409, requestId });
  });

  it.each(['cutOff', 'serverError'] as const)('is requested once, also after a %s', async (fault) => {
    world.sandbox.setFaults(undefined, { [fault]: { probability: 1, times: 1 } });
    const lost = await failureOf(api.createEndpoint(wanted, signal));
    expect(lost).toMatchObject({ code: 'unavailable' });
    const count = (await api.listEndpoints(signal)).length;
    expect(count).toBe(fault === 'cutOff' ? 2 : 1);
  });

  it('that was deleted before its answer was lost is deleted', async () => {
    world.sandbox.setFaults(undefined, { cutOff: { probability: 1, times: 1 } });
    await api.deleteEndpoint(world.endpointId, signal);
    expect(await api.listEndpoints(signal)).toEqual([]);
  });

  it('has its deliveries sent again: all that failed, or one', async () => {
    const { sandbox, endpointId, jobId } = world;
    sandbox.hire({ jobId });
    await sandbox.advance(24 * 3_600_000);
    const [delivery] = sandbox.listDeliveries();
    expect(delivery).toMatchObject({ status: 'FAILED' });
    expect(await api.redeliver(endpointId, undefined, signal)).toBe(1);
    expect(await api.redeliver(endpointId, undefined, signal)).toBe(0);
    expect(await api.redeliver(endpointId, delivery?.id, signal)).toBe(1);
    const unknown = await failureOf(api.redeliver(endpointId, 'dlv_x', signal));
    expect(unknown).toMatchObject({ code: 'not_found', status: 404 });
  });
});

it('compares the served contract, with no token', async () => {
  world.sandbox.revokeToken(world.installId);
  expect(await api.findDeviations(signal)).toEqual([]);
});
