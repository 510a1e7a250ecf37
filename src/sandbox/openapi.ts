import { type ApiRoute, splitOperation } from './api-router.ts';
import { employerRoutes } from './employer/employer-api.ts';
import { type Described, describeQuery, describeSchema, type Parameter } from './openapi-schema.ts';
import { Failure } from './platform-answer-schema.ts';
import { platformRoutes } from './platform-api.ts';
import type { RecordSchema, RequestSchema } from './platform-request-schema.ts';

type DescribedRoute = Omit<ApiRoute<never>, 'run'>;

/** What `/openapi.json` of the platform API answers. */
export function describePlatformApi(hasCursors: boolean) {
  const title = 'Annotation-platform API (Gangway sandbox)';
  const api = describeApi(title, '/api/partner/v1', platformRoutes, hasCursors, 'platformToken');
  const platformToken = { type: 'http', scheme: 'bearer', description: 'A token ot_ptk_…' };
  return {
    ...api,
    paths: { '/openapi.json': { get: itself }, ...api.paths },
    components: { ...api.components, securitySchemes: { platformToken } },
  };
}

/** What `/openapi.json` of the employers' API answers. */
export function describeEmployerApi(hasCursors: boolean) {
  return describeApi('API for employers (Gangway sandbox)', '/api/public/v1', employerRoutes, hasCursors);
}

const itself = {
  security: [],
  responses: { 200: { description: 'OK', content: { 'application/json': { schema: { type: 'object' } } } } },
};

/** @param token the security scheme, which describes scopes and refusals too */
function describeApi(
  title: string,
  url: string,
  routes: readonly DescribedRoute[],
  hasCursors: boolean,
  token?: string,
) {
  const schemas: Described = {};
  const paths: Record<string, Record<string, ReturnType<typeof describeRoute>>> = {};
  for (const route of routes) {
    const { method, path } = splitOperation(route.operation);
    paths[path] = { ...paths[path], [method]: describeRoute(route, hasCursors, schemas, token) };
  }
  return { openapi: '3.1.0', info: { title, version: 'v1' }, servers: [{ url }], paths, components: { schemas } };
}

function describeRoute(route: DescribedRoute, hasCursors: boolean, schemas: Described, token: string | undefined) {
  const { scopes = [], query, body, isBodyOptional, status = 200, accepted, page } = route;
  const answer = (hasCursors && page) || route.answer;
  const sent = page !== undefined && !hasCursors ? query?.omit({ cursor: true }) : query;
  const inPath = [...route.operation.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const toContent = (schema: RequestSchema<unknown>) => ({
    'application/json': { schema: describeSchema(schema, schemas) },
  });
  const responses: [number, string, RecordSchema][] = [[status, 'Done', answer]];
  if (accepted !== undefined) responses.push([202, 'A person must confirm it', accepted]);
  if (token !== undefined) responses.push(...listRefusals(route));
  return {
    ...(token !== undefined && { security: [{ [token]: scopes }] }),
    parameters: [
      ...inPath.map((name): Parameter => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...(sent ? describeQuery(sent) : []),
    ],
    ...(body && { requestBody: { required: isBodyOptional !== true, content: toContent(body) } }),
    responses: Object.fromEntries(
      responses.map(([code, description, schema]) => [code, { description, content: toContent(schema) }]),
    ),
  };
}

const refusalNames: Record<number, string> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
};

function listRefusals({ operation, query, body, refusals = [] }: DescribedRoute): [number, string, RecordSchema][] {
  const ofInput = query || body ? [400] : [];
  const ofId = operation.includes('{id}') ? [404] : [];
  return [...ofInput, 401, 403, ...ofId, ...refusals].map((code) => [code, refusalNames[code] ?? '', Failure]);
}
