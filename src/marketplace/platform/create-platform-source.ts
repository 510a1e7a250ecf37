import { platformEventTypes } from '../../domain/event.ts';
import { type Call, type CallOptions, createCaller, listWhole, pathOf, readPages } from '../http/caller.ts';
import {
  contractStatus,
  endpointStatus,
  type Fields,
  findDeviations,
  maybe,
  type ReliedOperation,
  reliedBudget,
  reliedContract,
  reliedEndpoint,
  type Shape,
  words,
} from '../http/compare-openapi.ts';
import { Budget, UsageAnswer } from '../record-schema.ts';
import type { Link, NeededScope, NewLink, Remedies, Source } from '../source.ts';
import {
  ContractPage,
  CreatedEndpointAnswer,
  DeletedAnswer,
  EndpointAnswer,
  EndpointPage,
  GrantAnswer,
  LinkAnswer,
  LinkPage,
  ParticipantPage,
  RedeliverAnswer,
} from './platform-schema.ts';

type Capability = 'createLink' | 'deleteLink' | 'reportUsage' | 'updateEndpoint' | 'redeliver';
export type PlatformSource = Source & Required<Pick<Source, Capability>>;

/** A platform that the customer has installed, with its token `ot_ptk_…` (spec: platform-api.md). */
export function createPlatformSource(options: CallOptions): PlatformSource {
  const { call, clockDriftMs } = createCaller(options);
  return {
    neededScopes,
    remedies,
    hasSilentEnds: false,
    readGrant: (signal) =>
      call({ path: '/installs/current', purpose: 'read the install', answer: GrantAnswer, signal }),
    ...linkCalls(call),
    ...contractCalls(call),
    ...endpointCalls(call),
    findDeviations: (signal) => findDeviations(call, reliedOperations, signal),
    clockDriftMs,
  };
}

function linkCalls(call: Call) {
  async function listLinks(signal: AbortSignal): Promise<Link[]> {
    const operation = { path: '/project-links', purpose: 'list the project links', answer: LinkPage };
    return await listWhole(call, { ...operation, signal }, ({ id }) => id);
  }

  return {
    listLinks,
    readLink: async (id, signal) =>
      await call({ path: toLinkPath(id), purpose: 'read a project link', answer: LinkAnswer, signal }),
    createLink: async (wanted, signal) =>
      await call({
        method: 'POST',
        path: '/project-links',
        body: wanted,
        purpose: 'create a project link',
        answer: LinkAnswer,
        doneBefore: {
          code: 'conflict',
          async answer(refusal) {
            const link = (await listLinks(signal)).find((one) => isResultOf(one, wanted));
            if (link === undefined) throw refusal;
            return link;
          },
        },
        signal,
      }),
    deleteLink: async (id, signal) => await remove(call, toLinkPath(id), 'delete a project link', signal),
  } satisfies Partial<Source>;
}

const pageLimit = 200;

function contractCalls(call: Call) {
  return {
    async listContracts({ status, projectLinkId, wantsMore, keep }, signal) {
      const query = { status, limit: String(pageLimit), projectLinkId };
      const operation = { path: '/contracts', purpose: 'list the contracts', answer: ContractPage, signal };
      const { records: contracts, isComplete } = await readPages(
        (cursor) => call({ ...operation, query: { ...query, cursor } }),
        { keyOf: ({ id }) => id, limit: pageLimit, wantsMore, keep },
      );
      return { contracts, isComplete };
    },

    async listParticipants(contractId, signal) {
      const path = pathOf`/contracts/${contractId}/participants`;
      const purpose = 'list the participants of a contract';
      const isAbout = (page: ParticipantPage) => (page.contractId ?? contractId) === contractId;
      const operation = { path, purpose, answer: ParticipantPage, isAbout, signal };
      return await listWhole(call, operation, ({ opentrainUserId }) => opentrainUserId);
    },

    async readBudget(contractId, signal) {
      const path = pathOf`/contracts/${contractId}/budget`;
      const isAbout = (budget: Budget) => budget.contractId === contractId;
      return await call({ path, purpose: 'read the budget of a contract', answer: Budget, isAbout, signal });
    },

    reportUsage: async (contractId, entries, signal, notes = {}) =>
      await call({
        method: 'POST',
        path: pathOf`/contracts/${contractId}/usage`,
        body: { entries },
        purpose: 'report the usage of a contract',
        answer: UsageAnswer,
        isAbout: (answer) => answer.contractId === contractId,
        notes,
        signal,
      }),
  } satisfies Partial<Source>;
}

function endpointCalls(call: Call) {
  return {
    listEventTypes: async () => platformEventTypes,
    async listEndpoints(signal) {
      const operation = { path: '/webhook-endpoints', purpose: 'list the webhook endpoints', answer: EndpointPage };
      return await listWhole(call, { ...operation, signal }, ({ id }) => id);
    },
    readEndpoint: async (id, signal) =>
      await call({ path: toEndpointPath(id), purpose: 'read a webhook endpoint', answer: EndpointAnswer, signal }),
    createEndpoint: (body, signal) =>
      call({
        method: 'POST',
        path: '/webhook-endpoints',
        body,
        isSentOnce: true,
        purpose: 'create a webhook endpoint',
        answer: CreatedEndpointAnswer,
        signal,
      }),
    async updateEndpoint(id, body, signal) {
      const [path, purpose] = [toEndpointPath(id), 'update a webhook endpoint'];
      return await call({ method: 'PATCH', path, body, purpose, answer: EndpointAnswer, signal });
    },
    deleteEndpoint: async (id, signal) => await remove(call, toEndpointPath(id), 'delete a webhook endpoint', signal),
    async redeliver(id, deliveryId, signal) {
      const [path, purpose] = [`${toEndpointPath(id)}/redeliver`, 'ask for deliveries to be sent again'];
      return await call({ method: 'POST', path, body: { deliveryId }, purpose, answer: RedeliverAnswer, signal });
    },
  } satisfies Partial<Source>;
}

/** If an attempt had no answer and the next finds nothing, the first deleted it. */
async function remove(call: Call, path: string, purpose: string, signal: AbortSignal): Promise<void> {
  const doneBefore = { code: 'not_found', answer: () => undefined } as const;
  await call({ method: 'DELETE', path, purpose, answer: DeletedAnswer, doneBefore, signal });
}

const toLinkPath = (linkId: string) => pathOf`/project-links/${linkId}`;
const toEndpointPath = (endpointId: string) => pathOf`/webhook-endpoints/${endpointId}`;

/** Whether an existing link may be the result of this request. */
function isResultOf(link: Link, wanted: NewLink): boolean {
  const { externalProjectId, jobId = null, provisioningMode = 'PARTNER_WEBHOOK' } = wanted;
  return (
    link.externalProjectId === externalProjectId &&
    (link.jobId ?? null) === jobId &&
    link.provisioningMode === provisioningMode
  );
}

/** A platform gets its token and scopes from the customer. */
export const remedies: Remedies = {
  tokenRefused: (install) => `Ask the customer for a new token, then run gangway connect ${install}`,
  accessRefused:
    "Ask the customer, then the marketplace: the install, your app or the feature of the customer's account is not active",
  unreachable: 'Check marketplace.baseUrl, and that this machine can reach it',
  scopeMissing: 'Have the customer connect again and grant it',
  grantInactive: 'Ask the customer to reconnect. Otherwise their people are removed after a grace period',
  addressesUnshared:
    'Ask the customer to consent to sharing personal data, in the settings of the connection at the marketplace',
};

const install: Fields = {
  id: 'id',
  status: words('ACTIVE'),
  piiConsent: 'flag',
  token: { scopes: ['text'], 'id?': 'id', 'name?': 'text' },
  'scopes?': ['text'],
  'organizationId?': 'id',
  'partnerApp?': { 'id?': 'id' },
};

const provisioningMode = words('PARTNER_WEBHOOK', 'MANAGED_ADAPTER');
const linkTexts = maybe('text', 'externalProjectName', 'externalProjectUrl');
const newLink: Fields = {
  externalProjectId: 'id',
  ...linkTexts,
  'provisioningMode?': provisioningMode,
  'jobId?': 'id',
};
const link: Fields = {
  id: 'id',
  externalProjectId: 'id',
  provisioningMode,
  jobId: 'id',
  ...linkTexts,
  'createdAt?': 'text',
};

const contract: Fields = { ...reliedContract, projectLinkIds: ['id'] };

const participant: Fields = { opentrainUserId: 'id', workEmail: 'text', 'displayName?': 'text' };

const milestone: Fields = { id: 'id', ...maybe('text', 'name', 'status'), ...maybe('number', 'amountUsd', 'volume') };
const budget: Fields = { ...reliedBudget, 'activeMilestone?': milestone };

const usageEntry: Fields = {
  workDate: 'text',
  ...maybe('number', 'totalSeconds', 'tasksCompleted', 'labelsCompleted'),
  ...maybe('id', 'workerOpentrainUserId', 'externalReportId'),
};

const subscribed: Shape = [words(...platformEventTypes)];
const endpointChanges: Fields = { 'url?': 'text', 'eventTypes?': subscribed, 'status?': endpointStatus };
const endpoint: Fields = { ...reliedEndpoint, 'consecutiveFailures?': 'number' };

/** A test compares this with the requests, and with the fields that are read from the answers. */
export const reliedOperations: readonly ReliedOperation[] = [
  { operation: 'GET /installs/current', answer: { install } },

  { operation: 'GET /project-links', answer: { projectLinks: [link] } },
  { operation: 'POST /project-links', body: newLink, answer: { projectLink: link } },
  { operation: 'GET /project-links/{id}', answer: { projectLink: link } },
  { operation: 'DELETE /project-links/{id}', answer: { deleted: 'flag' } },

  {
    operation: 'GET /contracts',
    query: { status: contractStatus, limit: 'number', 'projectLinkId?': 'id' },
    answer: { contracts: [contract] },
  },
  { operation: 'GET /contracts/{id}/participants', answer: { participants: [participant], 'contractId?': 'id' } },
  { operation: 'GET /contracts/{id}/budget', answer: budget },
  {
    operation: 'POST /contracts/{id}/usage',
    body: { entries: [usageEntry] },
    answer: { contractId: 'id', 'accepted?': 'number', 'budget?': budget },
  },

  { operation: 'GET /webhook-endpoints', answer: { webhookEndpoints: [endpoint] } },
  {
    operation: 'POST /webhook-endpoints',
    body: { url: 'text', eventTypes: subscribed },
    answer: { webhookEndpoint: endpoint, secret: 'text' },
  },
  { operation: 'GET /webhook-endpoints/{id}', answer: { webhookEndpoint: endpoint } },
  { operation: 'PATCH /webhook-endpoints/{id}', body: endpointChanges, answer: { webhookEndpoint: endpoint } },
  { operation: 'DELETE /webhook-endpoints/{id}', answer: { deleted: 'flag' } },
  {
    operation: 'POST /webhook-endpoints/{id}/redeliver',
    body: { 'deliveryId?': 'id' },
    answer: { 'requeued?': 'number' },
  },
];

export const neededScopes: readonly NeededScope[] = [
  {
    scope: 'project-links:read',
    without: 'Gangway cannot see which projects belong to which contracts',
    isVital: true,
    operations: ['listLinks', 'readLink'],
  },
  {
    scope: 'contracts:read',
    without: 'Gangway cannot notice missed webhooks, or read budgets',
    isVital: true,
    operations: ['listContracts', 'readBudget'],
  },
  {
    scope: 'participants:read',
    without: 'Gangway cannot see who is on a contract unless an event names them',
    isVital: true,
    operations: ['listParticipants'],
  },
  {
    scope: 'participants:email',
    without: 'no trainer has a work email, so nobody gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'webhooks:manage',
    without: 'Gangway cannot see or repair the webhook endpoint',
    isVital: false,
    operations: ['listEndpoints', 'readEndpoint', 'createEndpoint', 'updateEndpoint', 'deleteEndpoint', 'redeliver'],
  },
  { scope: 'usage:write', without: 'work cannot be reported', isVital: false, operations: ['reportUsage'] },
];
