import { describeBody, describeQuery } from '../openapi-request-schema.ts';
import { listOf, type OpenapiSchema, oneOf, record, schemas, text, trueOrFalse } from '../openapi-schemas.ts';
import type { RequestSchema } from '../platform-request-schema.ts';
import {
  ContractsOfJob,
  JobsQuery,
  MemberQuery,
  NewToken,
  NewWebhook,
  UpdatesQuery,
} from './employer-request-schema.ts';
import { InstructionsQuery, ManifestQuery, PageQuery } from './instruction-request-schema.ts';
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
 * What `/openapi.json` of the employers' API answers. Answers are described by hand, so that a test can compare them
 * with what is served.
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
  return {
    '/tokens': {
      get: operation({ answer: record({ tokens: listOf(token) }) }),
      post: operation({
        body: NewToken,
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
      get: operation({ query: JobsQuery, answer: record({ jobs: listOf(job), ...paged }) }),
    },
    '/contracts': {
      get: operation({
        query: ContractsOfJob.omit({ cursor: true }),
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
        query: MemberQuery,
        answer: record({ membership: member }),
      }),
    },
  };
}

function describeWebhooks(): Paths {
  return {
    '/updates': { get: operation({ query: UpdatesQuery, answer: updates }) },
    '/webhooks': {
      get: operation({ answer: record({ webhooks: listOf(webhook) }) }),
      post: operation({
        body: NewWebhook,
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
  const query = InstructionsQuery;
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
      get: operation({ id: true, number: true, query: ManifestQuery, answer: manifest }),
    },
    '/instructions/pages/{id}': {
      get: operation({
        id: true,
        query: PageQuery,
        answer: record({ page }),
      }),
    },
  };
}

interface Described {
  id?: true;
  number?: true;
  query?: RequestSchema<unknown>;
  body?: RequestSchema<unknown>;
  /** It does by default, where there is one. */
  needsBody?: boolean;
  status?: 201;
  answer: OpenapiSchema;
  /** What is answered with 202, where a person must confirm it first. */
  accepted?: OpenapiSchema;
}

function operation({ id, number, query, body, needsBody = true, status, answer, accepted }: Described) {
  const inPath = (name: string) => ({ name, in: 'path', required: true, schema: text });
  return {
    parameters: [
      ...(id ? [inPath('id')] : []),
      ...(number ? [inPath('number')] : []),
      ...(query ? describeQuery(query) : []),
    ],
    ...(body && { requestBody: { required: needsBody, content: toContent(describeBody(body)) } }),
    responses: {
      [status ?? 200]: { description: 'Done', content: toContent(answer) },
      ...(accepted && { 202: { description: 'A person must confirm it', content: toContent(accepted) } }),
    },
  };
}

function toContent(schema: OpenapiSchema) {
  return { 'application/json': { schema } };
}
