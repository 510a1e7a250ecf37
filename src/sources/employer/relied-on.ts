import { type Fields, maybe, type ReliedOperation, reliedBudget, words } from '../http/relied-operation.ts';

const account: Fields = {
  actor: { userId: 'id' },
  token: { 'id?': 'id', 'label?': 'text', scopes: ['text'] },
  account: maybe('id', 'organizationId', 'ownerUserId'),
};

const contractStatus = words('active', 'ended');
const contract: Fields = {
  id: 'id',
  status: contractStatus,
  ...maybe('id', 'jobId'),
  ...maybe('text', 'title', 'startDate', 'endDate', 'createdAt'),
};

const contractInFull: Fields = {
  id: 'id',
  'freelancer?': { userId: 'id', 'displayName?': 'text' },
  'jobDmConversationId?': 'id',
  'budget?': reliedBudget,
};

const webhook: Fields = {
  id: 'id',
  url: 'text',
  status: words('ACTIVE', 'DISABLED'),
  eventTypes: ['text'],
  ...maybe('text', 'createdAt', 'disabledAt', 'disabledReason'),
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

/** What is asked of the API for employers. */
export const reliedOperations: readonly ReliedOperation[] = [
  { operation: 'GET /auth/me', answer: account },
  { operation: 'GET /tokens', answer: { tokens: [token] } },
  {
    operation: 'POST /tokens',
    body: { name: 'text', scopes: ['text'], 'expiresAt?': 'text' },
    answer: { token: 'text', metadata: token },
  },
  { operation: 'DELETE /tokens/{id}', answer: { token } },
  { operation: 'GET /contracts', query: { status: contractStatus, jobId: 'id' }, answer: { contracts: [contract] } },
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
  { operation: 'GET /webhooks', answer: { webhooks: [webhook] } },
  { operation: 'POST /webhooks', body: { url: 'text', eventTypes: ['text'] }, answer: { webhook, secret: 'text' } },
  { operation: 'GET /webhooks/{id}', answer: { webhook } },
  { operation: 'DELETE /webhooks/{id}', answer: {} },
];
