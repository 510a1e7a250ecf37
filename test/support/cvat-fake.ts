import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RequestKind, ToolFault, ToolFaults } from '../../src/adapters/conformance/harness.ts';
import { type CvatAnswer, refuse } from './cvat-answer.ts';
import type { CvatEvent } from './cvat-events.ts';
import { createCvatRoutes } from './cvat-routes.ts';
import { type CvatOptions, type CvatState, createCvatState } from './cvat-state.ts';
import { listenOnLoopback } from './http-fake.ts';

export interface CvatFakeOptions extends CvatOptions {
  version?: string;
  isReadOnly?: boolean;
  expiry?: string;
  /** Changes the answer. */
  spoil?: (line: string, answer: CvatAnswer) => CvatAnswer;
}

/** CVAT on loopback, as far as an adapter talks to it; it misbehaves when a test switches that on. */
export interface CvatFake {
  url: string;
  token: string;
  settings: { url: string; token: string; organization: string };
  state: CvatState;
  events: CvatEvent[];
  /** `method path?query` of every request, and what was with it. */
  requests: { line: string; headers: IncomingMessage['headers']; body: unknown }[];
  faults: ToolFaults;
}

const token = 'pat_Ab12.cd/34+ef==';

export async function openCvatFake(options: CvatFakeOptions = {}): Promise<CvatFake> {
  const state = createCvatState(options);
  for (const slug of ['street-signs', 'street-lamps']) state.createOrganization(slug);
  const events: CvatEvent[] = [];
  const requests: CvatFake['requests'] = [];
  const route = createCvatRoutes(state, options, events);
  let begun: { kind: RequestKind; fault: ToolFault } | undefined;
  let origin = '';

  async function answer(request: IncomingMessage): Promise<CvatAnswer | null> {
    const { method = '', headers } = request;
    const line = `${method} ${request.url}`;
    const url = new URL(`${origin}${request.url}`);
    const sent = await text(request);
    const body = JSON.parse(sent || '{}') as Record<string, unknown>;
    requests.push({ line, headers, body });
    const fault = begun?.kind === kindOf(method, url.pathname) ? begun.fault : undefined;
    if (fault?.does === 'answers') return toQuoting(fault, `${request.url} ${sent}`);
    if (fault?.does === 'stalls') return null;
    const isSwallowed = fault?.does === 'swallows';
    const refusal = refusalOf(method, url.pathname, headers);
    const given = refusal ?? aboutOf(url.pathname) ?? route({ method, url, body, isSwallowed });
    if (fault?.does === 'goes_silent') return null;
    return options.spoil?.(line, given) ?? given;
  }

  function refusalOf(
    method: string,
    path: string,
    { accept = '*/*', authorization }: IncomingMessage['headers'],
  ): CvatAnswer | undefined {
    if (!/\*\/\*|application\/vnd\.cvat\+json/.test(accept)) {
      return refuse(406, 'Could not satisfy the request Accept header.');
    }
    if (authorization !== `Bearer ${token}`) return refuse(401, 'Invalid access token.');
    const isSafe = method === 'GET' || path === '/api/events/export';
    if (options.isReadOnly && !isSafe) return refuse(403, 'Access token is read only');
    return undefined;
  }

  function aboutOf(path: string): CvatAnswer | undefined {
    const { version = '2.60.0', isReadOnly = false, expiry = null, hasAnalytics = true } = options;
    if (path === '/api/server/about') return { status: 200, body: { name: 'CVAT', version } };
    if (path === '/api/server/plugins') {
      const others = { GIT_INTEGRATION: false, MODELS: false, PREDICT: false };
      return { status: 200, body: { ...others, ANALYTICS: hasAnalytics } };
    }
    if (path !== '/api/auth/access_tokens/self') return undefined;
    const { id, username } = state.own;
    const owner = { id, username };
    return { status: 200, body: { id: 1, read_only: isReadOnly, expiry_date: expiry, owner } };
  }

  const server = createServer(async (request, response) => {
    const given = await answer(request);
    if (given !== null) send(response, given);
  });
  origin = await listenOnLoopback(server);

  return {
    url: origin,
    token,
    state,
    events,
    requests,
    settings: { url: origin, token, organization: 'street-signs' },
    faults: {
      begin: (kind, fault) => {
        begun = { kind, fault };
      },
      end: () => {
        begun = undefined;
      },
      secrets: [token],
    },
  };
}

function send(response: ServerResponse, { status, body, csv, html, headers }: CvatAnswer): void {
  const text = csv === undefined ? 'text/html' : 'text/csv';
  const type = csv === undefined && html === undefined ? 'application/vnd.cvat+json' : text;
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(csv ?? html ?? (body === undefined ? undefined : JSON.stringify(body)));
}

function kindOf(method: string, path: string): RequestKind {
  if (/\/(about|plugins|self)$/.test(path)) return 'check';
  if (method === 'GET') return 'read';
  return method === 'POST' ? 'add' : 'remove';
}

/** Quotes all it should not: its credential, and what it was sent. */
function toQuoting({ status, retryAfterSeconds }: ToolFault & { does: 'answers' }, sent: string): CvatAnswer {
  const detail = `${sent} ${token} ${encodeURIComponent(token)} Bearer ${token}`;
  const headers = {
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    ...(status === 302 && { location: '/auth/login' }),
  };
  return { ...refuse(status, detail), headers };
}
