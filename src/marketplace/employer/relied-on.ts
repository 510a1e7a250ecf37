import { employerEventTypes } from '../../domain/event.ts';
import {
  contractStatus,
  type Fields,
  maybe,
  type ReliedOperation,
  reliedBudget,
  reliedContract,
  reliedEndpoint,
  words,
} from '../http/compare-openapi.ts';
import { isGranted, type NeededScope, type OptionalScopes } from '../source.ts';

const account: Fields = {
  actor: { userId: 'id' },
  token: { 'id?': 'id', 'label?': 'text', scopes: ['text'] },
  account: maybe('id', 'organizationId', 'ownerUserId'),
};

const contractInFull: Fields = {
  id: 'id',
  'freelancer?': { userId: 'id', 'displayName?': 'text' },
  'jobDmConversationId?': 'id',
  'budget?': reliedBudget,
};

const token: Fields = {
  id: 'id',
  name: 'text',
  scopes: ['text'],
  status: 'text',
  createdAt: 'text',
  ...maybe('text', 'lastUsedAt', 'expiresAt'),
};

const update: Fields = { id: 'id', type: 'text', 'createdAt?': 'text', 'resourceId?': 'id' };

const approval: Fields = {
  id: 'id',
  status: words('pending', 'confirmed', 'declined', 'expired'),
  ...maybe('id', 'contractId'),
  ...maybe('text', 'approvalUrl', 'expiresAt'),
};

const payment: Fields = {
  id: 'id',
  ...maybe('text', 'viewerRole', 'createdAt'),
  ...maybe('number', 'amountUsd', 'invoiceNumber'),
  'job?': { 'id?': 'id' },
};

const manual: Fields = { id: 'id', 'bindings?': [{ kind: 'text', targetId: 'id', precedence: 'number' }] };

const manifestPage: Fields = {
  pageId: 'id',
  revision: 'number',
  ...maybe('id', 'parentId'),
  ...maybe('text', 'title', 'audience', 'checksum'),
  'position?': 'number',
};

const instructions = '/instructions/manuals/{id}';

const optional: readonly ReliedOperation[] = [
  { operation: 'POST /contracts/{id}/end', answer: {} },
  { operation: 'GET /approvals/{id}', answer: { approval } },
  { operation: 'GET /payments/pending', answer: { payments: [payment] } },
  { operation: 'GET /instructions/workspaces', answer: { workspaces: [{ id: 'id' }] } },
  { operation: 'GET /instructions/workspaces/{id}/manuals', answer: { manuals: [manual] } },
  { operation: `GET ${instructions}`, answer: { manual } },
  {
    operation: `GET ${instructions}/publications`,
    answer: { publications: [{ publicationNumber: 'number', audiences: ['text'] }] },
  },
  {
    operation: `GET ${instructions}/publications/{number}/manifest`,
    query: { audience: words('WORKER') },
    answer: { publicationNumber: 'number', pages: [manifestPage] },
  },
  {
    operation: 'GET /instructions/pages/{id}',
    query: { revision: 'number', format: words('json') },
    answer: { page: { ...maybe('number', 'revision'), ...maybe('text', 'checksum') } },
  },
];

export const reliedOperations: readonly ReliedOperation[] = [
  { operation: 'GET /auth/me', answer: account },
  { operation: 'GET /tokens', answer: { tokens: [token] } },
  {
    operation: 'POST /tokens',
    body: { name: 'text', scopes: ['text'], 'expiresAt?': 'text' },
    answer: { token: 'text', metadata: token },
  },
  { operation: 'DELETE /tokens/{id}', answer: { token } },
  {
    operation: 'GET /contracts',
    query: { status: contractStatus, jobId: 'id' },
    answer: { contracts: [reliedContract] },
  },
  { operation: 'GET /contracts/{id}', answer: { contract: contractInFull } },
  {
    operation: 'GET /messaging/management/messaging_management.members.get',
    query: { conversationId: 'id', contractId: 'id', includeWorkEmail: 'flag' },
    answer: { 'membership?': { 'workEmail?': 'text' } },
  },
  {
    operation: 'GET /updates',
    query: { cursor: 'id', limit: 'number' },
    answer: { events: [update], 'nextCursor?': 'text', 'hasMore?': 'flag' },
  },
  { operation: 'GET /webhooks', answer: { webhooks: [reliedEndpoint] } },
  {
    operation: 'POST /webhooks',
    body: { url: 'text', eventTypes: ['text'] },
    answer: { webhook: reliedEndpoint, secret: 'text' },
  },
  { operation: 'GET /webhooks/{id}', answer: { webhook: reliedEndpoint } },
  { operation: 'DELETE /webhooks/{id}', answer: {} },
  ...optional.map((one) => ({ ...one, isOptional: true })),
];

/** Spec: part A section 5. */
export const neededScopes: readonly NeededScope[] = [
  {
    scope: 'payments:read',
    without: 'Gangway cannot see who is hired, or read budgets',
    isVital: true,
    operations: ['listContracts', 'listParticipants', 'readBudget', 'readUpdates', 'listPendingPayments'],
  },
  {
    scope: 'messages:read',
    without: 'Gangway cannot read the conversation that holds the work email, so nobody gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'participant_work_email:read',
    without: 'no trainer has a work email, so nobody gets in',
    isVital: true,
    operations: [],
  },
  {
    scope: 'webhooks:manage',
    without: 'Gangway cannot see or repair the webhook, so it only reads on a schedule',
    isVital: false,
    operations: ['listEndpoints', 'readEndpoint', 'createEndpoint', 'deleteEndpoint'],
  },
  {
    scope: 'instructions:read',
    without: 'Gangway cannot read manuals, so none becomes the guidelines of a project',
    isVital: false,
    operations: ['readPublications'],
  },
];

export const allNeeded = neededScopes.map(({ scope }) => scope).join(', ');

export const optionalScopes: OptionalScopes = {
  uses: new Map([
    ['payments:write', 'only for gangway contracts end-at-marketplace'],
    ['proposals:read', 'only to count proposals that are delivered'],
  ]),
  remedy: (install) =>
    `Run gangway token rotate ${install} for a token with ${allNeeded}, or make one in the settings of your account at the marketplace and run gangway connect ${install} --employer`,
};

/**
 * The event types of an account, by the scope that a subscription to them needs (spec: part A sections 4.9 and 6). Events
 * about proposals and messages are only counted.
 */
const typesOfScope = {
  'payments:read': employerEventTypes,
  'proposals:read': ['proposal.received', 'proposal.status_changed'],
  'messages:read': ['message.received'],
};

export function eventTypesOf(granted: readonly string[]): string[] {
  return Object.entries(typesOfScope).flatMap(([scope, types]) => (isGranted(granted, scope) ? types : []));
}
