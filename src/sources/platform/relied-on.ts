import { platformEventTypes } from '../../domain/event.ts';
import {
  contractStatus,
  endpointStatus,
  type Fields,
  maybe,
  type ReliedOperation,
  reliedBudget,
  reliedContract,
  reliedEndpoint,
  type Shape,
  words,
} from '../http/compare-openapi.ts';
import type { NeededScope } from '../source.ts';

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

/** All 15 operations. A test compares this with the calls and with what is read from the answers. */
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

/** What a platform token must be allowed to do, and what does not work without it. */
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
