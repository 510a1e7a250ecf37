import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { InstallRecord, MarketState } from './market-state.ts';
import { type Operation, operations } from './operations.ts';
import { demand, orNotFound, Refusal } from './refusal.ts';

/** The platform API over HTTP: token, install and scope first, then what was asked. */

export const platformPath = '/api/partner/v1';

export function createPlatformServer(state: MarketState): Server {
  let requests = 0;
  return createServer((request, response) => {
    requests += 1;
    void answer(state, request, response, `req-${requests}`);
  });
}

async function answer(
  state: MarketState,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
): Promise<void> {
  try {
    const { status, body } = await answerOf(state, request);
    send(response, status, body);
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL_ERROR', 'Something went wrong');
    const { status, code, message } = refusal;
    send(response, status, { error: message, code, requestId });
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function answerOf(state: MarketState, request: IncomingMessage): Promise<{ status: number; body: object }> {
  const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://second.example');
  const path = pathname.startsWith(platformPath) ? pathname.slice(platformPath.length) : '';
  if (request.method === 'GET' && path === '/openapi.json') {
    return { status: 200, body: openapiOf(operations) };
  }
  const install = authenticate(state, request.headers.authorization);
  const { operation, ids } = orNotFound(findOperation(request.method, path), 'Path');
  const { scopes, status = 200 } = operation;
  if (scopes.length > 0 && !scopes.some((scope) => install.scopes.includes(scope))) {
    throw new Refusal('FORBIDDEN', `needs the scope ${scopes[0]}`);
  }
  const body = hasBody(operation) ? await readBody(request) : {};
  return { status, body: operation.answer({ state, install, ids, query, body }) };
}

function authenticate({ installsByToken }: MarketState, authorization: string | undefined): InstallRecord {
  const value = /^Bearer (ot_ptk_\S+)$/i.exec(authorization ?? '')?.[1];
  const install = installsByToken.get(value ?? '');
  if (install?.token.isLive !== true) throw new Refusal('UNAUTHORIZED', 'no such token');
  if (install.status !== 'ACTIVE') throw new Refusal('FORBIDDEN', 'the install is not active');
  return install;
}

function findOperation(method: string | undefined, path: string): { operation: Operation; ids: string[] } | undefined {
  for (const operation of operations) {
    const pattern = new RegExp(`^${operation.path.replace('{id}', '([^/]+)')}$`);
    const found = operation.method === method ? pattern.exec(path) : null;
    if (found !== null) return { operation, ids: found.slice(1).map(decodeSegment) };
  }
  return undefined;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal('BAD_REQUEST', 'the path is malformed');
  }
}

function hasBody({ method }: Operation): boolean {
  return method === 'POST' || method === 'PATCH';
}

export async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const body = parse(await text(request));
  demand(typeof body === 'object' && body !== null && !Array.isArray(body), 'no JSON object');
  return { ...body };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Refusal('BAD_REQUEST', 'the body is not JSON');
  }
}

/** The contract that is served: which operations there are, and who may call them. */
function openapiOf(operations: Operation[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, scopes, status = 200 } of operations) {
    const named = path.replace('{id}', '{resourceId}');
    const parameters = path.includes('{id}')
      ? [{ name: 'resourceId', in: 'path', required: true, schema: { type: 'string' } }]
      : [];
    paths[named] = {
      ...paths[named],
      [method.toLowerCase()]: {
        parameters: [...parameters, ...(path === '/contracts' ? listParameters : [])],
        security: [{ platformToken: scopes }],
        responses: {
          [status]: { description: 'What was asked for' },
          default: {
            description: 'An error',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
          },
        },
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Annotation-platform API', version: 'v1' },
    paths,
    components: {
      securitySchemes: { platformToken: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: { type: 'object', required: ['error', 'code', 'requestId'] } },
    },
  };
}

const listParameters = [
  { name: 'projectLinkId', in: 'query', schema: { type: 'string' } },
  { name: 'status', in: 'query', schema: { type: 'string', enum: ['active', 'ended'] } },
  { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 200 } },
];
