import type { ApiRoute } from './api-route.ts';
import { employerRoutes } from './employer/employer-api.ts';
import { type Described, describeQuery, describeSchema, type Parameter } from './openapi-schema.ts';
import { Failure } from './platform-answer-schema.ts';
import { platformRoutes } from './platform-api.ts';
import type { AnswerSchema, RequestSchema } from './platform-request-schema.ts';

type DescribedRoute = Omit<ApiRoute<never>, 'run'>;

interface Content {
  'application/json': { schema: Described };
}

export interface OpenapiOperation {
  operationId?: string | undefined;
  summary?: string | undefined;
  security?: Record<string, readonly string[]>[];
  parameters: Parameter[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { description: string; content: Content }>;
}

/** What `/openapi.json` of the platform API answers. */
export function describePlatformApi(hasCursors: boolean) {
  const { paths, schemas } = describeRoutes(platformRoutes, hasCursors, 'platformToken');
  return {
    openapi: '3.1.0',
    info: { title: 'Annotation-platform API (Gangway sandbox)', version: 'v1' },
    servers: [{ url: '/api/partner/v1' }],
    paths: { '/openapi.json': { get: itself }, ...paths },
    components: {
      schemas,
      securitySchemes: { platformToken: { type: 'http', scheme: 'bearer', description: 'A token ot_ptk_…' } },
    },
  };
}

/** What `/openapi.json` of the employers' API answers. */
export function describeEmployerApi(hasCursors: boolean) {
  const { paths, schemas } = describeRoutes(employerRoutes, hasCursors);
  return {
    openapi: '3.1.0',
    info: { title: 'API for employers (Gangway sandbox)', version: 'v1' },
    servers: [{ url: '/api/public/v1' }],
    paths,
    components: { schemas },
  };
}

const itself = {
  operationId: 'getOpenApi',
  summary: 'This document, without authentication',
  security: [],
  responses: { 200: { description: 'OK', content: { 'application/json': { schema: { type: 'object' } } } } },
};

/** @param token its security scheme, where refusals are described too */
function describeRoutes(routes: readonly DescribedRoute[], hasCursors: boolean, token?: string) {
  const schemas: Described = {};
  const paths: Record<string, Record<string, OpenapiOperation>> = {};
  for (const route of routes) {
    const operation = describeOperation(route, hasCursors, schemas);
    if (token !== undefined) {
      operation.security = [{ [token]: route.scopes ?? [] }];
      Object.assign(operation.responses, describeRefusals(route, schemas));
    }
    paths[route.path] = { ...paths[route.path], [route.method]: operation };
  }
  return { paths, schemas };
}

function describeOperation(route: DescribedRoute, hasCursors: boolean, schemas: Described): OpenapiOperation {
  const { operationId, summary, path, query, body, isBodyOptional, status = 200, accepted, page } = route;
  const answer = (hasCursors && page) || route.answer;
  const sent = page !== undefined && !hasCursors ? query?.omit({ cursor: true }) : query;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const toContent = (schema: RequestSchema<unknown>): Content => ({
    'application/json': { schema: describeSchema(schema, schemas) },
  });
  const toResponse = (description: string, schema: AnswerSchema) => ({ description, content: toContent(schema) });
  return {
    operationId,
    summary,
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path' as const, required: true, schema: { type: 'string' } })),
      ...(sent ? describeQuery(sent) : []),
    ],
    ...(body && { requestBody: { required: isBodyOptional !== true, content: toContent(body) } }),
    responses: {
      [status]: toResponse('Done', answer),
      ...(accepted && { 202: toResponse('A person must confirm it', accepted) }),
    },
  };
}

const refusalNames: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
};

function describeRefusals({ path, query, body, refusals = [] }: DescribedRoute, schemas: Described) {
  const statuses = [...(query || body ? [400] : []), 401, 403, ...(path.includes('{id}') ? [404] : []), ...refusals];
  const schema = describeSchema(Failure, schemas);
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: refusalNames[status] ?? '', content: { 'application/json': { schema } } },
    ]),
  );
}
