import { beforeEach, describe, expect, it } from 'vitest';
import { platformEventTypes as sandboxEventTypes } from '../../../src/domain/event.ts';
import { createPlatformSource, type PlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import type { NewLink } from '../../../src/marketplace/source.ts';
import { clock, openWorld, today, type World } from '../../sandbox/sandbox-harness.ts';
import { failureOf, signal } from '../failure-of.ts';

const hookUrl = 'https://bridge.example.com/webhooks/acme';

interface Ready extends World {
  linkId: string;
  contractId: string;
  trainerId: string;
  endpointId: string;
}

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
      createdAt: expect.any(String),
      partnerApp: { id: 'app_sandbox', slug: expect.any(String), name: expect.any(String) },
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
