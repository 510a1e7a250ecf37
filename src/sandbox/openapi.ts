import { describeBody, describeQuery, type Parameter } from './openapi-request-schema.ts';
import {
  count,
  listOf,
  nullableText,
  type OpenapiSchema,
  record,
  ref,
  schemas,
  text,
  trueOrFalse,
} from './openapi-schemas.ts';
import {
  ContractQuery,
  CreateProjectLink,
  CreateWebhookEndpoint,
  Redeliver,
  type RequestSchema,
  UpdateWebhookEndpoint,
  UsageReport,
} from './platform-request-schema.ts';
import type { Scope } from './sandbox-state.ts';

interface Content {
  'application/json': { schema: OpenapiSchema };
}

export interface OpenapiOperation {
  operationId: string;
  summary: string;
  security: Record<string, Scope[]>[];
  parameters?: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { description: string; content: Content }>;
}

export interface PlatformDescription {
  openapi: '3.1.0';
  info: { title: string; version: string };
  servers: { url: string }[];
  paths: Record<string, Partial<Record<'get' | 'post' | 'patch' | 'delete', OpenapiOperation>>>;
  components: {
    schemas: Record<string, OpenapiSchema>;
    securitySchemes: Record<string, { type: 'http'; scheme: 'bearer'; description: string }>;
  };
}

/** What `/openapi.json` answers. Answers are described by hand, so that a test can compare them with what is served. */
export function describePlatformApi(hasCursors: boolean): PlatformDescription {
  return {
    openapi: '3.1.0',
    info: { title: 'Annotation-platform API (Gangway sandbox)', version: 'v1' },
    servers: [{ url: '/api/partner/v1' }],
    paths: {
      '/openapi.json': { get: describeItself() },
      ...describeInstalls(),
      ...describeLinks(),
      ...describeContracts(hasCursors),
      ...describeEndpoints(),
    },
    components: {
      schemas,
      securitySchemes: {
        platformToken: { type: 'http', scheme: 'bearer', description: 'A token ot_ptk_…' },
      },
    },
  };
}

function describeItself(): OpenapiOperation {
  const content = { 'application/json': { schema: { type: 'object' } } };
  return {
    operationId: 'getOpenApi',
    summary: 'This document, without authentication',
    security: [],
    responses: { 200: { description: 'OK', content } },
  };
}

function describeInstalls(): PlatformDescription['paths'] {
  return {
    '/installs/current': {
      get: operation('getCurrentInstall', 'The install of this token', undefined, {
        answer: record({ install: ref('Install') }),
      }),
    },
  };
}

function describeLinks(): PlatformDescription['paths'] {
  const one = { id: true, answer: record({ projectLink: ref('ProjectLink') }) };
  return {
    '/project-links': {
      get: operation('listProjectLinks', 'All links, newest first', 'project-links:read', {
        answer: record({ projectLinks: listOf(ref('ProjectLink')) }),
      }),
      post: operation('createProjectLink', 'Link a project to a job', 'project-links:write', {
        body: CreateProjectLink,
        status: 201,
        answer: one.answer,
        refusals: [404, 409],
      }),
    },
    '/project-links/{id}': {
      get: operation('getProjectLink', 'One link', 'project-links:read', one),
      delete: operation('deleteProjectLink', 'Delete a link for good', 'project-links:write', {
        id: true,
        answer: record({ projectLink: ref('ProjectLink'), deleted: trueOrFalse }),
      }),
    },
  };
}

function describeContracts(hasCursors: boolean): PlatformDescription['paths'] {
  const contracts = listOf(ref('Contract'));
  const read = 'contracts:read';
  return {
    '/contracts': {
      get: operation('listContracts', 'Contracts on linked jobs, newest first', read, {
        query: hasCursors ? ContractQuery : ContractQuery.omit({ cursor: true }),
        answer: record(hasCursors ? { contracts, nextCursor: nullableText } : { contracts }),
      }),
    },
    '/contracts/{id}/participants': {
      get: operation('listParticipants', 'Those who work on a contract', 'participants:read', {
        id: true,
        answer: record({ contractId: text, participants: listOf(ref('Participant')) }),
      }),
    },
    '/contracts/{id}/budget': {
      get: operation('getBudget', 'What is funded and consumed', read, {
        id: true,
        answer: ref('Budget'),
      }),
    },
    '/contracts/{id}/usage': {
      post: operation('reportUsage', 'Totals per worker and day', 'usage:write', {
        id: true,
        body: UsageReport,
        answer: record({ contractId: text, accepted: count, budget: ref('Budget') }),
        refusals: [409],
      }),
    },
  };
}

function describeEndpoints(): PlatformDescription['paths'] {
  const scope = 'webhooks:manage';
  const endpoint = ref('WebhookEndpoint');
  const one = { id: true, answer: record({ webhookEndpoint: endpoint }) };
  return {
    '/webhook-endpoints': {
      get: operation('listWebhookEndpoints', 'All endpoints of the install', scope, {
        answer: record({ webhookEndpoints: listOf(endpoint) }),
      }),
      post: operation('createWebhookEndpoint', 'Register; the secret is shown once', scope, {
        body: CreateWebhookEndpoint,
        status: 201,
        answer: record({ webhookEndpoint: endpoint, secret: text, message: text }),
        refusals: [409],
      }),
    },
    '/webhook-endpoints/{id}': {
      get: operation('getWebhookEndpoint', 'One endpoint', scope, one),
      patch: operation('updateWebhookEndpoint', 'Change or re-enable', scope, {
        ...one,
        body: UpdateWebhookEndpoint,
      }),
      delete: operation('deleteWebhookEndpoint', 'Delete; pending ones are discarded', scope, {
        id: true,
        answer: record({ webhookEndpoint: endpoint, deleted: trueOrFalse }),
      }),
    },
    '/webhook-endpoints/{id}/redeliver': {
      post: operation('redeliver', 'Queue all FAILED deliveries again, or one', scope, {
        id: true,
        body: Redeliver,
        answer: record({ webhookEndpoint: endpoint, requeued: count, message: text }),
      }),
    },
  };
}

interface Shape {
  /** Whether the path has an `{id}`. Then 404 is possible. */
  id?: boolean;
  query?: RequestSchema<unknown>;
  body?: RequestSchema<unknown>;
  status?: 201;
  answer: OpenapiSchema;
  refusals?: number[];
}

function operation(
  operationId: string,
  summary: string,
  scope: Scope | undefined,
  { id = false, query, body, status, answer, refusals = [] }: Shape,
): OpenapiOperation {
  const statuses = [...(body || query ? [400] : []), 401, 403, ...(id ? [404] : []), ...refusals];
  const errors = statuses.map((code) => [code, toResponse(errorNames[code] ?? '', ref('Error'))]);
  return {
    operationId,
    summary,
    security: [{ platformToken: scope === undefined ? [] : [scope] }],
    parameters: [
      ...(id ? [{ name: 'id', in: 'path' as const, required: true, schema: text }] : []),
      ...(query ? describeQuery(query) : []),
    ],
    ...(body ? { requestBody: { required: true, content: toContent(describeBody(body)) } } : {}),
    responses: { [status ?? 200]: toResponse('Done', answer), ...Object.fromEntries(errors) },
  };
}

const errorNames: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
};

function toResponse(description: string, schema: OpenapiSchema) {
  return { description, content: toContent(schema) };
}

function toContent(schema: OpenapiSchema): Content {
  return { 'application/json': { schema } };
}
