import { describe, expect, it } from 'vitest';
import { createPlatformSource, type PlatformSource } from '../../../src/marketplace/platform/create-platform-source.ts';
import { openHttpFake, sendJson } from '../../support/http-fake.ts';
import { failureOf, signal } from '../failure-of.ts';

const secret = 'whsec_0123456789';

/** A marketplace that gives these answers in turn, and repeats the last one. */
async function open(...bodies: unknown[]) {
  const fake = await openHttpFake((_request, response, count) => {
    const body = bodies[Math.min(count, bodies.length) - 1];
    if (body === undefined) response.writeHead(204).end();
    else sendJson(response, body);
  });
  return { api: createPlatformSource({ baseUrl: fake.url, token: 'ot_ptk_x' }), ...fake };
}

type Run = (api: PlatformSource) => Promise<unknown>;

const run = {
  readGrant: (api) => api.readGrant(signal),
  readLink: (api) => api.readLink('l1', signal),
  createLink: (api) => api.createLink({ externalProjectId: 'p' }, signal),
  deleteLink: (api) => api.deleteLink('l1', signal),
  listLinks: (api) => api.listLinks(signal),
  listContracts: (api) => api.listContracts({ status: 'active' }, signal),
  listParticipants: (api) => api.listParticipants('c1', signal),
  readBudget: (api) => api.readBudget('c1', signal),
  reportUsage: (api) => api.reportUsage('c1', [{ workDate: '2026-03-15' }], signal),
  listEndpoints: (api) => api.listEndpoints(signal),
  readEndpoint: (api) => api.readEndpoint('e1', signal),
  createEndpoint: (api) => api.createEndpoint({ url: 'http://localhost/', eventTypes: [] }, signal),
  updateEndpoint: (api) => api.updateEndpoint('e1', {}, signal),
  deleteEndpoint: (api) => api.deleteEndpoint('e1', signal),
  redeliver: (api) => api.redeliver('e1', undefined, signal),
  findDeviations: (api) => api.findDeviations(signal),
} satisfies Record<string, Run>;

const link = { id: 'l1', externalProjectId: 'p' };
const endpoint = { id: 'e1', status: 'PAUSED' };
const budget = { contractId: 'c1', state: 'FROZEN' };
const nothingThere = {
  where: 'GET /installs/current',
  says: 'this operation no longer exists',
  isFailure: true,
};
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
    ['readGrant', { install: { id: 7, status: 'NEW' } }, { id: '7', status: 'NEW' }],
    [
      'readGrant',
      {
        install: { id: 'i', status: 'ACTIVE', scopes: 'all', piiConsent: 'yes', token: 'ot_ptk_' },
      },
      { id: 'i', status: 'ACTIVE' },
    ],
    [
      'readGrant',
      { install: { id: 'i', status: 'ACTIVE', piiConsent: false, token: { scopes: ['new:one'] } } },
      { id: 'i', status: 'ACTIVE', piiConsent: false, token: { scopes: ['new:one'] } },
    ],
    [
      'listLinks',
      { projectLinks: [{ ...link, externalProjectName: 'Signs', extra: 1, id: 7 }] },
      [{ ...link, externalProjectName: 'Signs', id: '7', provisioningMode: null }],
    ],
    [
      'listParticipants',
      { participants: [{ opentrainUserId: 'u1', displayName: 7, workEmail: 'not an address' }] },
      [{ opentrainUserId: 'u1', displayName: null, workEmail: null }],
    ],
    [
      'readLink',
      { projectLink: { ...link, jobId: null, externalProjectUrl: 'javascript:alert(1)' } },
      { ...link, jobId: null, externalProjectName: null, provisioningMode: null },
    ],
    [
      'createLink',
      { projectLink: { ...link, provisioningMode: 'BY_PIGEON', createdAt: 'once' } },
      { ...link, externalProjectName: null, provisioningMode: 'BY_PIGEON' },
    ],
    ['deleteLink', { deleted: true, projectLink: null }, undefined],
    ['deleteLink', undefined, undefined],
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
      'listEndpoints',
      { webhookEndpoints: [{ ...endpoint, eventTypes: ['contract.paused'], url: 7 }] },
      [{ ...endpoint, eventTypes: ['contract.paused'], consecutiveFailures: null, disabledReason: null }],
    ],
    [
      'createEndpoint',
      { webhookEndpoint: endpoint, secret },
      { endpoint: { ...endpoint, consecutiveFailures: null, disabledReason: null }, secret },
    ],
    ['deleteEndpoint', undefined, undefined],
    ['redeliver', { requeued: 3 }, 3],
    ['redeliver', {}, null],
    ['redeliver', undefined, null],
    ['findDeviations', { paths: { '/x': { get: 1 } } }, expect.arrayContaining([nothingThere])],
  ])('to %s that is odd only in optional fields is read: %j', async (name, body, expected) => {
    const { api } = await open(body);
    expect(await run[name](api)).toEqual(expected);
  });

  it.each<[keyof typeof run, unknown]>([
    ['readGrant', {}],
    ['readGrant', { install: { id: '', status: 'ACTIVE' } }],
    ['listLinks', null],
    ['listLinks', 'ok'],
    ['listLinks', { projectLinks: {} }],
    ['listLinks', { projectLinks: [{ id: 'l1' }] }],
    ['readLink', { projectLink: null }],
    ['createLink', { projectLink: { id: 'l1' } }],
    ['deleteLink', {}],
    ['deleteLink', { deleted: false }],
    ['listContracts', { contracts: null }],
    ['listContracts', { contracts: [{ id: 'c1' }] }],
    ['listParticipants', { participants: [{ displayName: 'Amara' }] }],
    ['readBudget', {}],
    ['readBudget', { state: 'OK' }],
    ['reportUsage', {}],
    ['reportUsage', 'ok'],
    ['listEndpoints', {}],
    ['listEndpoints', { webhookEndpoints: [{ url: 'http://localhost/' }] }],
    ['readEndpoint', {}],
    ['createEndpoint', { webhookEndpoint: endpoint }],
    ['createEndpoint', { webhookEndpoint: endpoint, secret: '' }],
    ['createEndpoint', { webhookEndpoint: endpoint, secret: 'whsec_with a space' }],
    ['updateEndpoint', undefined],
    ['deleteEndpoint', { deleted: false }],
    ['redeliver', 'later'],
    ['findDeviations', []],
    ['findDeviations', { paths: [] }],
  ])('to %s without its essential fields is refused: %j', async (name, body) => {
    const { api, requests } = await open(body);
    expect(await failureOf(run[name](api))).toMatchObject({
      code: 'invalid',
      status: undefined,
      message: expect.stringMatching(/: the answer is not what was expected$/),
    });
    expect(requests).toHaveLength(1);
  });

  it('with a secret is not quoted in the error if it is invalid', async () => {
    const { api } = await open({ webhookEndpoint: {}, secret });
    const { message, stack, cause } = await failureOf(run.createEndpoint(api));
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
    ['listLinks', 'projectLinks', (id) => ({ ...link, id })],
    ['listEndpoints', 'webhookEndpoints', (id) => ({ ...endpoint, id })],
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
        message: expect.stringMatching(/: the list is incomplete, or changed while it was read$/),
      });
    }
  });
});

describe('a list of contracts', () => {
  const contract = { id: 'c1', status: 'active', title: 'Signs', projectLinkIds: ['l1'] };

  it('is requested in the largest pages, and by cursor', async () => {
    const { api, requests } = await open(
      { contracts: [contract], nextCursor: 'page&2' },
      { contracts: [{ ...contract, id: 'c2' }], nextCursor: null },
    );
    expect(await api.listContracts({ status: 'active' }, signal)).toEqual({
      contracts: [contract, { ...contract, id: 'c2' }],
      isComplete: true,
    });
    await api.listContracts({ status: 'ended', projectLinkId: 'a&b=c/d' }, signal);
    expect(requests.map(({ line }) => line)).toEqual([
      'GET /contracts?status=active&limit=200',
      'GET /contracts?status=active&limit=200&cursor=page%262',
      'GET /contracts?status=ended&limit=200&projectLinkId=a%26b%3Dc%2Fd',
    ]);
  });

  it.each([
    [199, true],
    [200, false],
  ])('of one page with %i is complete: %s', async (count, isComplete) => {
    const { api } = await open({
      contracts: Array.from({ length: count }, (_, id) => ({ ...contract, id: `c${id}` })),
    });
    expect(await api.listContracts({ status: 'active' }, signal)).toMatchObject({ isComplete });
  });
});
