import { describe, expect, it } from 'vitest';
import type { AppError } from '../../src/domain/errors.ts';
import { createPlatformApi } from '../../src/marketplace/create-platform-api.ts';
import type { PlatformApi } from '../../src/marketplace/platform-api.ts';
import { openHttpFake, sendJson } from '../support/http-fake.ts';

const { signal } = new AbortController();
const secret = 'whsec_0123456789';

/** A marketplace that gives its answers in turn, and repeats the last one. */
async function open(...bodies: unknown[]) {
  const fake = await openHttpFake((_request, response, count) => {
    const body = bodies[Math.min(count, bodies.length) - 1];
    if (body === undefined) response.writeHead(204).end();
    else sendJson(response, body);
  });
  return { api: createPlatformApi({ baseUrl: fake.url, token: 'ot_ptk_x' }), ...fake };
}

async function failureOf(promise: Promise<unknown>): Promise<AppError> {
  return await promise.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: unknown) => error as AppError,
  );
}

type Run = (api: PlatformApi) => Promise<unknown>;

const run = {
  getInstall: (api) => api.getInstall(signal),
  getProjectLink: (api) => api.getProjectLink('l1', signal),
  createProjectLink: (api) => api.createProjectLink({ externalProjectId: 'p' }, signal),
  deleteProjectLink: (api) => api.deleteProjectLink('l1', signal),
  listProjectLinks: (api) => api.listProjectLinks(signal),
  listContracts: (api) => api.listContracts({ status: 'active' }, signal),
  listParticipants: (api) => api.listParticipants('c1', signal),
  readBudget: (api) => api.readBudget('c1', signal),
  reportUsage: (api) => api.reportUsage('c1', [{ workDate: '2026-03-15' }], signal),
  listWebhookEndpoints: (api) => api.listWebhookEndpoints(signal),
  getWebhookEndpoint: (api) => api.getWebhookEndpoint('e1', signal),
  createWebhookEndpoint: (api) => api.createWebhookEndpoint({ url: 'http://localhost/', eventTypes: [] }, signal),
  updateWebhookEndpoint: (api) => api.updateWebhookEndpoint('e1', {}, signal),
  deleteWebhookEndpoint: (api) => api.deleteWebhookEndpoint('e1', signal),
  redeliver: (api) => api.redeliver('e1', undefined, signal),
  readOpenapi: (api) => api.readOpenapi(signal),
} satisfies Record<string, Run>;

const link = { id: 'l1', externalProjectId: 'p' };
const endpoint = { id: 'e1', status: 'PAUSED' };
const budget = { contractId: 'c1', state: 'FROZEN' };
const noAmounts = {
  fundedVolume: null,
  fundedAmountUsd: null,
  consumed: null,
  consumedVolume: null,
  remainingVolume: null,
  consumedFraction: null,
  paymentType: null,
  lastUsageAt: null,
};

describe('an answer', () => {
  it.each<[keyof typeof run, unknown, unknown]>([
    ['getInstall', { install: { id: 7, status: 'NEW' } }, { id: '7', status: 'NEW' }],
    [
      'getInstall',
      {
        install: { id: 'i', status: 'ACTIVE', scopes: 'all', piiConsent: 'yes', token: 'ot_ptk_' },
      },
      { id: 'i', status: 'ACTIVE' },
    ],
    [
      'getInstall',
      { install: { id: 'i', status: 'ACTIVE', piiConsent: false, token: { scopes: ['new:one'] } } },
      { id: 'i', status: 'ACTIVE', piiConsent: false, token: { scopes: ['new:one'] } },
    ],
    [
      'getProjectLink',
      { projectLink: { ...link, jobId: null, externalProjectUrl: 'javascript:alert(1)' } },
      { ...link, jobId: null, externalProjectName: null, provisioningMode: null },
    ],
    [
      'createProjectLink',
      { projectLink: { ...link, provisioningMode: 'BY_PIGEON', createdAt: 'once' } },
      { ...link, externalProjectName: null, provisioningMode: 'BY_PIGEON' },
    ],
    ['deleteProjectLink', { deleted: true, projectLink: null }, undefined],
    ['deleteProjectLink', undefined, undefined],
    [
      'listContracts',
      { contracts: [{ id: 'c1', status: 'paused', endDate: null, startDate: '2026-03-15' }] },
      {
        contracts: [{ id: 'c1', status: 'paused', title: null, projectLinkIds: [], endDate: null }],
        isComplete: true,
      },
    ],
    ['readBudget', budget, { ...budget, ...noAmounts }],
    [
      'readBudget',
      {
        ...budget,
        fundedVolume: '10.50',
        fundedAmountUsd: 'ten',
        consumedFraction: '1e3',
        consumed: { seconds: 5 },
        activeMilestone: { name: 'no id' },
      },
      { ...budget, ...noAmounts, fundedVolume: 10.5, consumed: { seconds: 5, hours: null, labels: null, tasks: null } },
    ],
    ['reportUsage', { contractId: 'c1', accepted: 1, budget: 'fine' }, { contractId: 'c1', accepted: 1, budget: null }],
    ['reportUsage', { contractId: 'c1' }, { contractId: 'c1', accepted: null, budget: null }],
    [
      'listWebhookEndpoints',
      { webhookEndpoints: [{ ...endpoint, eventTypes: ['contract.paused'], url: 7 }] },
      [{ ...endpoint, eventTypes: ['contract.paused'], consecutiveFailures: null, disabledReason: null }],
    ],
    [
      'createWebhookEndpoint',
      { webhookEndpoint: endpoint, secret },
      { endpoint: { ...endpoint, consecutiveFailures: null, disabledReason: null }, secret },
    ],
    ['deleteWebhookEndpoint', undefined, undefined],
    ['redeliver', { requeued: 3 }, 3],
    ['redeliver', {}, null],
    ['redeliver', undefined, null],
    ['readOpenapi', { paths: { '/x': { get: 1 } } }, { paths: { '/x': { get: 1 } } }],
  ])('to %s that is odd only in optional fields is read: %j', async (name, body, expected) => {
    const { api } = await open(body);
    expect(await run[name](api)).toEqual(expected);
  });

  it.each<[keyof typeof run, unknown]>([
    ['getInstall', {}],
    ['getInstall', { install: { id: '', status: 'ACTIVE' } }],
    ['getProjectLink', { projectLink: null }],
    ['createProjectLink', { projectLink: { id: 'l1' } }],
    ['deleteProjectLink', {}],
    ['deleteProjectLink', { deleted: false }],
    ['listContracts', { contracts: null }],
    ['listContracts', { contracts: [{ id: 'c1' }] }],
    ['listParticipants', { participants: [{ displayName: 'Amara' }] }],
    ['readBudget', {}],
    ['readBudget', { state: 'OK' }],
    ['reportUsage', {}],
    ['reportUsage', 'ok'],
    ['listWebhookEndpoints', {}],
    ['listWebhookEndpoints', { webhookEndpoints: [{ url: 'http://localhost/' }] }],
    ['getWebhookEndpoint', {}],
    ['createWebhookEndpoint', { webhookEndpoint: endpoint }],
    ['createWebhookEndpoint', { webhookEndpoint: endpoint, secret: '' }],
    ['createWebhookEndpoint', { webhookEndpoint: endpoint, secret: 'whsec_with a space' }],
    ['updateWebhookEndpoint', undefined],
    ['deleteWebhookEndpoint', { deleted: false }],
    ['redeliver', 'later'],
    ['readOpenapi', []],
    ['readOpenapi', { paths: [] }],
  ])('to %s without its essential fields is refused: %j', async (name, body) => {
    const { api, requests } = await open(body);
    expect(await failureOf(run[name](api))).toMatchObject({
      code: 'invalid',
      status: undefined,
      message: expect.stringMatching(/: the answer is not what was expected$/),
    });
    expect(requests).toHaveLength(1);
  });

  it('with a secret is not quoted in the error if it is odd', async () => {
    const { api } = await open({ webhookEndpoint: {}, secret });
    const { message, stack, cause } = await failureOf(run.createWebhookEndpoint(api));
    expect(JSON.stringify([message, stack, cause, String(cause)])).not.toContain(secret);
  });

  it.each<[keyof typeof run, unknown]>([
    ['listParticipants', { contractId: 'c2', participants: [] }],
    ['readBudget', { ...budget, contractId: 'c2' }],
    ['reportUsage', { contractId: 'c2', accepted: 1 }],
  ])('to %s about another contract is refused', async (name, body) => {
    const { api } = await open(body);
    const failure = await failureOf(run[name](api));
    expect(failure).toMatchObject({
      code: 'invalid',
      message: expect.stringMatching(/: the answer is about another contract$/),
    });
  });
});

describe('a list that is documented to have no pages', () => {
  const lists: [keyof typeof run, string, (id: string) => object][] = [
    ['listProjectLinks', 'projectLinks', (id) => ({ ...link, id })],
    ['listWebhookEndpoints', 'webhookEndpoints', (id) => ({ ...endpoint, id })],
    ['listParticipants', 'participants', (opentrainUserId) => ({ opentrainUserId })],
  ];

  it.each(lists)('%s is read by its cursors if it has some', async (name, key, toRecord) => {
    const { api, requests } = await open(
      { [key]: [toRecord('a'), toRecord('b')], nextCursor: 'page&2' },
      { [key]: [toRecord('c')], nextCursor: null },
    );
    expect(await run[name](api)).toHaveLength(3);
    const [first, second] = requests.map(({ line }) => line);
    expect(second).toBe(`${first}?cursor=page%262`);
  });

  it.each(lists)('%s is refused if it is not complete', async (name, key, toRecord) => {
    const page = { [key]: [toRecord('a')] };
    const notWhole = [
      [{ ...page, hasMore: true }],
      [{ ...page, nextCursor: 'x' }, page],
      [
        { ...page, nextCursor: 'x' },
        { [key]: [], nextCursor: null },
      ],
    ];
    for (const pages of notWhole) {
      const { api } = await open(...pages);
      expect(await failureOf(run[name](api))).toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/: the list is not complete, or it changed while it was read$/),
      });
    }
  });
});
