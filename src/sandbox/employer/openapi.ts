import { listOf, nullableText, type OpenapiSchema, oneOf, record, ref, schemas, text } from '../openapi-schemas.ts';
import { paymentTypes } from '../sandbox-state.ts';
import { employerEventTypes, employerScopes } from './account.ts';

const contract = record({
  id: text,
  status: oneOf(['active', 'ended']),
  title: nullableText,
  jobId: nullableText,
  paymentType: oneOf([...paymentTypes, null]),
  startDate: nullableText,
  endDate: nullableText,
  createdAt: text,
  freelancer: record({ userId: text, displayName: text }),
});
const webhook = record({
  id: text,
  url: text,
  eventTypes: listOf(oneOf(employerEventTypes)),
  status: oneOf(['ACTIVE', 'DISABLED']),
  createdAt: text,
  disabledAt: nullableText,
  disabledReason: nullableText,
});
const inFull = {
  ...contract,
  properties: { ...contract.properties, jobDmConversationId: nullableText, budget: ref('Budget') },
};
const event = record({
  id: text,
  type: text,
  createdAt: text,
  resourceId: text,
  jobId: nullableText,
  data: { type: 'object' },
});
const account = record({
  actor: record({ userId: text, email: text }),
  token: record({ id: text, label: text, scopes: listOf(oneOf(employerScopes)) }),
  account: record({ kind: text, organizationId: nullableText, ownerUserId: nullableText }),
});
const token = record({
  id: text,
  name: text,
  preview: text,
  scopes: listOf(oneOf(employerScopes)),
  status: oneOf(['active', 'revoked']),
  organizationId: nullableText,
  createdAt: text,
  lastUsedAt: nullableText,
  expiresAt: nullableText,
  revokedAt: nullableText,
});
const count: OpenapiSchema = { type: 'integer', minimum: 1, maximum: 200 };

/** What `/openapi.json` of the employers' API answers: the operations that the sandbox has, written by hand. */
export function describeEmployerApi() {
  return {
    openapi: '3.1.0',
    info: { title: 'API for employers (Gangway sandbox)', version: 'v1' },
    servers: [{ url: '/api/public/v1' }],
    paths: {
      '/auth/me': { get: operation({ answer: account }) },
      '/tokens': {
        get: operation({ answer: record({ tokens: listOf(token) }) }),
        post: operation({
          body: record({ name: text, scopes: listOf(oneOf(employerScopes)), expiresAt: nullableText }, [
            'name',
            'scopes',
            'expiresAt',
          ]),
          answer: record({ token: text, tokenType: oneOf(['bearer']), metadata: token }),
          status: 201,
        }),
      },
      '/tokens/{id}': { delete: operation({ id: true, answer: record({ token }) }) },
      '/contracts': {
        get: operation({
          query: { jobId: text, status: oneOf(['active', 'ended']) },
          answer: record({ contracts: listOf(contract) }),
        }),
      },
      '/contracts/{id}': { get: operation({ id: true, answer: record({ contract: inFull }) }) },
      '/messaging/management/messaging_management.members.get': {
        get: operation({
          query: { conversationId: text, contractId: text, includeWorkEmail: { type: 'boolean' } },
          answer: record({
            membership: { anyOf: [record({ userId: text, workEmail: nullableText }, ['workEmail']), text] },
          }),
        }),
      },
      '/updates': {
        get: operation({
          query: { cursor: text, limit: count },
          answer: record({ events: listOf(event), nextCursor: nullableText, hasMore: { type: 'boolean' } }),
        }),
      },
      '/webhooks': {
        get: operation({ answer: record({ webhooks: listOf(webhook) }) }),
        post: operation({
          body: record({ url: text, eventTypes: listOf(oneOf(employerEventTypes)) }),
          answer: record({ webhook, secret: text, message: text }),
          status: 201,
        }),
      },
      '/webhooks/{id}': {
        get: operation({ id: true, answer: record({ webhook }) }),
        delete: operation({ id: true, answer: record({ webhook }) }),
      },
    },
    components: { schemas },
  };
}

interface Described {
  id?: true;
  query?: Record<string, OpenapiSchema>;
  body?: OpenapiSchema;
  status?: 201;
  answer: OpenapiSchema;
}

function operation({ id, query = {}, body, status, answer }: Described) {
  return {
    parameters: [
      ...(id ? [{ name: 'id', in: 'path', required: true, schema: text }] : []),
      ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', required: false, schema })),
    ],
    ...(body && { requestBody: { required: true, content: toContent(body) } }),
    responses: { [status ?? 200]: { description: 'Done', content: toContent(answer) } },
  };
}

function toContent(schema: OpenapiSchema) {
  return { 'application/json': { schema } };
}
