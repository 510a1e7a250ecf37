/** Valid answers of both APIs, by the path of the request. The first match counts. */
export type Routes = readonly (readonly [RegExp, unknown])[];

const at = '2026-03-15T12:00:00.000Z';
const page = { nextCursor: null, hasMore: false };

const budget = {
  contractId: 'c1',
  paymentType: 'hourly',
  state: 'LOW',
  fundedVolume: '10.50',
  fundedAmountUsd: 315,
  consumed: { seconds: 3600, hours: '1', labels: 0, tasks: 12 },
  consumedVolume: 1,
  remainingVolume: '9.5',
  consumedFraction: 0.1,
  activeMilestone: { id: 'm1', name: 'First', amountUsd: '315.00', volume: 10.5, status: 'FUNDED' },
  lastUsageAt: at,
};

const contract = {
  id: 'c1',
  status: 'active',
  title: 'Street signs',
  jobId: 'j1',
  startDate: at,
  endDate: null,
  createdAt: at,
};

const described = {
  paths: {
    '/installs/current': {
      get: { responses: { 200: { content: { 'application/json': { schema: { $ref: '#/x' } } } } } },
    },
    '/contracts': { get: { parameters: [{ in: 'query', name: 'status', schema: { enum: ['active', 'ended'] } }] } },
  },
  x: { type: 'object', properties: { install: { allOf: [{ $ref: '#/x' }] } } },
};

const link = {
  id: 'l1',
  jobId: 'j1',
  externalProjectId: 'signs',
  externalProjectName: 'Street signs',
  externalProjectUrl: 'https://tool.example/projects/7',
  provisioningMode: 'PARTNER_WEBHOOK',
  createdAt: at,
};

const endpoint = {
  id: 'e1',
  status: 'ACTIVE',
  url: 'https://b.example/webhooks/acme',
  eventTypes: ['contract.started'],
  createdAt: at,
  consecutiveFailures: 0,
  disabledAt: null,
  disabledReason: null,
};

const grant = {
  id: 'i1',
  status: 'ACTIVE',
  scopes: ['contracts:read'],
  piiConsent: true,
  organizationId: 'o1',
  partnerApp: { id: 'p1' },
  token: { id: 't1', name: 'gangway', scopes: ['contracts:read'] },
};

/** Endpoints are created and listed at the same path, so an answer has both forms. */
const linkAnswer = { projectLink: link, projectLinks: [link], deleted: true, ...page };
const endpointAnswer = { webhookEndpoint: endpoint, secret: 'whsec_0123456789', webhookEndpoints: [endpoint], ...page };

export const platformAnswers: Routes = [
  [/^\/openapi/, described],
  [/^\/installs/, { install: grant }],
  [/^\/project-links/, linkAnswer],
  [
    /\/participants/,
    {
      contractId: 'c1',
      participants: [{ opentrainUserId: 'u1', displayName: 'Ada', workEmail: 'a@b.example' }],
      ...page,
    },
  ],
  [/\/budget/, budget],
  [/\/usage/, { contractId: 'c1', accepted: 1, budget }],
  [
    /^\/contracts/,
    {
      contracts: [
        { ...contract, projectLinkIds: ['l1'] },
        { ...contract, id: 'c2' },
      ],
      ...page,
    },
  ],
  [/redeliver/, { requeued: 3 }],
  [/^\/webhook/, { ...endpointAnswer, deleted: true }],
];

const account = {
  actor: { userId: 'u9' },
  token: { id: 't1', label: 'gangway', scopes: ['messages:read', 'participant_work_email:read'] },
  account: { organizationId: 'o1', ownerUserId: 'u9' },
};

const employed = { ...contract, freelancer: { userId: 'u1', displayName: 'Ada' }, jobDmConversationId: 'dm1', budget };
const token = { id: 't1', name: 'gangway', scopes: [], status: 'active', createdAt: at, lastUsedAt: at, expiresAt: at };
const approval = {
  id: 'a1',
  status: 'pending',
  contractId: 'c1',
  approvalUrl: 'https://app.example/a1',
  expiresAt: at,
};
const payment = {
  id: 'p1',
  viewerRole: 'EMPLOYER',
  amountUsd: '10.00',
  createdAt: at,
  invoiceNumber: 7,
  job: { id: 'j1' },
};
const event = { id: '7', type: 'contract.started', createdAt: at, resourceId: 'c1', data: { contract } };

const manual = { id: 'm1', bindings: [{ kind: 'JOB', targetId: 'j1', precedence: 1 }] };
const pages = [
  { pageId: 'g1', title: 'Start', revision: 1, parentId: null, position: 0, audience: 'WORKER', checksum: 'x' },
  { pageId: 'g2', title: 'More', revision: 2, parentId: 'g1', position: 1, checksum: 'x' },
];

export const employerAnswers: Routes = [
  [/^\/openapi/, described],
  [/^\/auth\/me/, account],
  [/^\/tokens\//, { token: { ...token, status: 'revoked' } }],
  // Both the list and a new token.
  [/^\/tokens/, { tokens: [token], token: 'ot_pat_0123456789', metadata: token, ...page }],
  [/\/end$/, { approval }],
  [/^\/approvals/, { approval }],
  [/^\/contracts\//, { contract: employed }],
  [/^\/contracts/, { contracts: [contract, { ...contract, id: 'c2', jobId: null }], ...page }],
  [/^\/messaging/, { membership: { workEmail: 'a@b.example' }, member: 'none' }],
  [/^\/payments/, { payments: [payment], ...page }],
  [/^\/updates/, { events: [event, { ...event, id: '8' }], nextCursor: '8', hasMore: true }],
  [/^\/webhooks/, { webhook: endpoint, secret: 'whsec_0123456789', webhooks: [endpoint], ...page }],
  [/\/manifest/, { publicationNumber: 2, pages }],
  [/\/publications/, { publications: [{ publicationNumber: 2, audiences: ['WORKER'] }], ...page }],
  [/^\/instructions\/pages\/g1/, { page: { id: 'g1', revision: 1, checksum: 'x', content: { type: 'doc' } } }],
  [/^\/instructions\/pages/, { page: { pageId: 'g2', revision: 2, checksum: 'x', content: null } }],
  [/^\/instructions\/manuals/, { manual }],
  [/\/manuals/, { manuals: [manual, { id: 'm2' }], ...page }],
  [/^\/instructions/, { workspaces: [{ id: 'w1' }], ...page }],
];
