import {
  listOf,
  nullableText,
  type OpenapiSchema,
  oneOf,
  record,
  schemas,
  text,
  trueOrFalse,
} from '../openapi-schemas.ts';
import { employerEventTypes, employerScopes } from './account.ts';
import { audiences } from './manual.ts';
import {
  account,
  approval,
  contract,
  contractInFull,
  job,
  manifest,
  manual,
  member,
  page,
  paged,
  payment,
  publication,
  token,
  updates,
  webhook,
} from './openapi-schemas.ts';

/**
 * What `/openapi.json` of the employers' API answers. It is written by hand, so that a test can compare it with the
 * routes and their answers.
 */
export function describeEmployerApi() {
  return {
    openapi: '3.1.0',
    info: { title: 'API for employers (Gangway sandbox)', version: 'v1' },
    servers: [{ url: '/api/public/v1' }],
    paths: {
      '/auth/me': { get: operation({ answer: account }) },
      ...describeTokens(),
      ...describeContracts(),
      ...describeWebhooks(),
      ...describeInstructions(),
    },
    components: { schemas },
  };
}

type Paths = Record<string, Partial<Record<'get' | 'post' | 'delete', ReturnType<typeof operation>>>>;

function describeTokens(): Paths {
  const wanted = { name: text, scopes: listOf(oneOf(employerScopes)), expiresAt: nullableText };
  return {
    '/tokens': {
      get: operation({ answer: record({ tokens: listOf(token) }) }),
      post: operation({
        body: record(wanted, Object.keys(wanted)),
        needsBody: false,
        answer: record({ token: text, tokenType: oneOf(['bearer']), metadata: token }),
        status: 201,
      }),
    },
    '/tokens/{id}': { delete: operation({ id: true, answer: record({ token }) }) },
  };
}

function describeContracts(): Paths {
  const ended = record({ ok: trueOrFalse, contractId: text, status: oneOf(['ended']) });
  return {
    '/jobs/mine': {
      get: operation({ query: { cursor: text, limit: upTo(100) }, answer: record({ jobs: listOf(job), ...paged }) }),
    },
    '/contracts': {
      get: operation({
        query: { jobId: text, status: oneOf(['active', 'ended']) },
        answer: record({ contracts: listOf(contract) }),
      }),
    },
    '/contracts/{id}': { get: operation({ id: true, answer: record({ contract: contractInFull }) }) },
    '/contracts/{id}/end': {
      post: operation({ id: true, answer: ended, accepted: record({ approval, message: text }) }),
    },
    '/approvals/{id}': { get: operation({ id: true, answer: record({ approval }) }) },
    '/payments/pending': { get: operation({ answer: record({ payments: listOf(payment) }) }) },
    '/messaging/management/messaging_management.members.get': {
      get: operation({
        query: { conversationId: text, contractId: text, includeWorkEmail: trueOrFalse },
        answer: record({ membership: member }),
      }),
    },
  };
}

function describeWebhooks(): Paths {
  return {
    '/updates': { get: operation({ query: { cursor: text, limit: upTo(200) }, answer: updates }) },
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
  };
}

function describeInstructions(): Paths {
  const query = { cursor: text, limit: upTo(100) };
  const list = (name: string, item: OpenapiSchema) => record({ [name]: listOf(item), ...paged });
  return {
    '/instructions/workspaces': {
      get: operation({ query, answer: list('workspaces', record({ id: text, name: text })) }),
    },
    '/instructions/workspaces/{id}/manuals': {
      get: operation({ id: true, query, answer: list('manuals', manual) }),
    },
    '/instructions/manuals/{id}': { get: operation({ id: true, answer: record({ manual }) }) },
    '/instructions/manuals/{id}/publications': {
      get: operation({ id: true, query, answer: list('publications', publication) }),
    },
    '/instructions/manuals/{id}/publications/{number}/manifest': {
      get: operation({ id: true, number: true, query: { audience: oneOf(audiences) }, answer: manifest }),
    },
    '/instructions/pages/{id}': {
      get: operation({
        id: true,
        query: { revision: { type: 'integer', minimum: 1 }, format: oneOf(['json', 'html', 'markdown']) },
        answer: record({ page }),
      }),
    },
  };
}

function upTo(maximum: number): OpenapiSchema {
  return { type: 'integer', minimum: 1, maximum };
}

interface Described {
  id?: true;
  number?: true;
  query?: Record<string, OpenapiSchema>;
  body?: OpenapiSchema;
  /** It does by default, where there is one. */
  needsBody?: boolean;
  status?: 201;
  answer: OpenapiSchema;
  /** What is answered with 202, where a person must confirm it first. */
  accepted?: OpenapiSchema;
}

function operation({ id, number, query = {}, body, needsBody = true, status, answer, accepted }: Described) {
  const inPath = (name: string) => ({ name, in: 'path', required: true, schema: text });
  return {
    parameters: [
      ...(id ? [inPath('id')] : []),
      ...(number ? [inPath('number')] : []),
      ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', required: false, schema })),
    ],
    ...(body && { requestBody: { required: needsBody, content: toContent(body) } }),
    responses: {
      [status ?? 200]: { description: 'Done', content: toContent(answer) },
      ...(accepted && { 202: { description: 'A person must confirm it', content: toContent(accepted) } }),
    },
  };
}

function toContent(schema: OpenapiSchema) {
  return { 'application/json': { schema } };
}
