import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createControls, type EmployerControls } from './employer-controls.ts';
import { BytesAnswer } from './employer-messages.ts';
import {
  type EmployerOperation,
  employerOperations,
  isLive,
  register,
  type TokenRecord,
} from './employer-operations.ts';
import { type Account, covers, EmployerState } from './employer-state.ts';
import { readBody } from './platform-server.ts';
import { orNotFound, Refusal } from './refusal.ts';

/**
 * The API for employers, written from parts A and B of the specification and `employer-api.md` alone. It shares no code
 * with the sandbox and must not: where both understood the specification the same way, that is worth something. It has
 * only the operations whose shapes the specification shows.
 */
export async function openEmployerServer(clock: { now(): Date }): Promise<
  EmployerControls & {
    host: string;
    stop(): Promise<void>;
  }
> {
  const state = new EmployerState(clock);
  const server = createServer((request, response) => void respond(state, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    host: `http://127.0.0.1:${port}`,
    ...createControls(state),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const basePath = '/api/public/v1';
const authPath = '/api/agent';
const fileHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': 'sandbox',
  'cache-control': 'no-store',
};
const rateHeaders = {
  'x-ratelimit-limit': '10',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': '60',
  'retry-after': '60',
};
let requests = 0;

async function respond(state: EmployerState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '', `http://${request.headers.host}`);
  const isFile = url.pathname.includes('/attachments/');
  try {
    const [status, body] = await answer(state, request, url);
    const bytes = body instanceof BytesAnswer ? body.bytes : JSON.stringify(body);
    const headers = body instanceof BytesAnswer ? body.headers : { 'content-type': 'application/json' };
    response.writeHead(status, { ...headers, ...(isFile && fileHeaders) }).write(bytes);
    response.end();
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL_ERROR', String(error));
    const headers = { ...(isFile && fileHeaders), ...(refusal.status === 429 && rateHeaders) };
    response.writeHead(refusal.status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(url.pathname.startsWith(authPath) ? showOAuth(refusal) : showEnvelope(refusal)));
  }
}

function showEnvelope({ message, code, details }: Refusal): object {
  requests += 1;
  return { error: message, code, requestId: `req-${requests}`, ...(details && { details }) };
}

function showOAuth({ message, details }: Refusal): object {
  return { error: 'server_error', ...details, error_description: message };
}

async function answer(state: EmployerState, request: IncomingMessage, url: URL): Promise<[number, object]> {
  const { pathname, searchParams: query, origin } = url;
  const { method = '', headers } = request;
  if (`${method} ${pathname}` === `POST ${authPath}/identity`) {
    return [200, register(state, origin, await readBody(request))];
  }
  const path = pathname.startsWith(basePath) ? pathname.slice(basePath.length) : '';
  const { operation, ids } = orNotFound(find(`${method} ${path}`), 'Path');
  operation.check?.({ ids, query });
  const { account, record: token } = authenticate(state, headers.authorization);
  allow(operation, account, token);
  const hasBody = Number(headers['content-length'] ?? 0) > 0;
  const sent = hasBody ? await readBody(request) : {};
  const key = headers['idempotency-key']?.toString();
  const address = String(request.socket.remoteAddress);
  const body = operation.answer({ state, account, token, ids, path, query, body: sent, key, address });
  // A person must confirm it.
  const isWaiting = method === 'POST' && 'approval' in body;
  return [isWaiting ? 202 : (operation.status ?? 200), body];
}

function find(wanted: string): { operation: EmployerOperation; ids: string[] } | undefined {
  for (const operation of employerOperations) {
    const found = new RegExp(`^${operation.at.replaceAll('{id}', '([^/]*)')}$`).exec(wanted);
    if (found !== null) return { operation, ids: found.slice(1).map(decodeURIComponent) };
  }
  return undefined;
}

function authenticate(state: EmployerState, authorization: string | undefined) {
  const found = state.tokens.get(/^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '');
  if (found === undefined || !isLive(state, found.record)) throw new Refusal('UNAUTHORIZED', 'no such token');
  Object.assign(found.record, { lastUsedAt: state.at() });
  return found;
}

/** The three gates (section 5): scope, feature, claim. */
function allow(
  { scopes = [], feature = '', needsClaim }: EmployerOperation,
  account: Account,
  token: TokenRecord,
): void {
  if (scopes.length > 0 && !scopes.some((scope) => covers(token.scopes, scope))) {
    const details = { requiredScopes: scopes, grantedScopes: token.scopes };
    throw new Refusal('FORBIDDEN', 'a scope is missing', details);
  }
  const isOff = account.featuresOff.includes(feature);
  if (isOff) throw new Refusal('FORBIDDEN', 'the feature is off', { featureKey: feature });
  const details = { reason: 'account_claim_required', claimUrl: 'https://second.example/claim' };
  if (needsClaim === true && !account.isClaimed) throw new Refusal('FORBIDDEN', 'the account is unclaimed', details);
}
