import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RequestKind, ToolFault, ToolFaults } from '../../src/adapters/conformance/harness.ts';
import { listenOnLoopback } from './http-fake.ts';
import { createRestToolState, type RestAnswer, type RestToolOptions } from './rest-tool-state.ts';

/** A tool with a usual HTTP API, on loopback, which misbehaves if a test says so. */
export interface RestTool {
  /** The root of its API. */
  url: string;
  token: string;
  /** `method path?query` of every request, and its body. */
  requests: { line: string; headers: IncomingMessage['headers']; body: unknown }[];
  /** The addresses of a project's members. */
  members(project: string): string[];
  /** The ids of all users who have a login. */
  users(): string[];
  seed(project: string, email: string, status?: string): void;
  /** Makes a login that is in no project. */
  seedAccount(email: string): void;
  /** Gives the id of an account to another user. */
  giveOut(id: string, email: string): void;
  hasLogin(email: string): boolean;
  faults: ToolFaults & { begin(kind: RequestKind | 'any', fault: ToolFault): void };
}

const token = 'tool-token/1+2==';

export async function openRestTool(options: RestToolOptions = {}): Promise<RestTool> {
  const state = createRestToolState(options);
  const requests: RestTool['requests'] = [];
  let begun: { kind: RequestKind | 'any'; fault: ToolFault } | undefined;
  let origin = '';

  async function answer(request: IncomingMessage): Promise<RestAnswer | null> {
    const { method = '', headers } = request;
    const url = new URL(`${origin}${request.url}`);
    const body: unknown = JSON.parse((await text(request)) || 'null');
    requests.push({ line: `${method} ${request.url}`, headers, body });
    const isMeant = begun?.kind === 'any' || begun?.kind === kindOf(method, url.pathname);
    const fault = isMeant ? begun?.fault : undefined;
    if (fault?.does === 'answers') return refuse(fault, `${request.url} ${JSON.stringify(body)}`);
    if (fault?.does === 'stalls') return null;
    if (headers.authorization !== `Bearer ${token}`) return { status: 401 };
    const given = state.answer({ method, url, body, isSwallowed: fault?.does === 'swallows' });
    return fault?.does === 'goes_silent' ? null : given;
  }

  const server = createServer(async (request, response) => {
    const given = await answer(request);
    if (given !== null) send(response, given);
  });
  // Longer than any pause in a test, because a call fails if its connection is just being closed.
  server.keepAliveTimeout = 300_000;
  origin = await listenOnLoopback(server);

  return {
    url: `${origin}/v1`,
    token,
    requests,
    members: state.members,
    users: state.users,
    seed: (project, email, status) => void state.seed(project, email, status),
    seedAccount: (email) => void state.seedAccount(email),
    giveOut: state.giveOut,
    hasLogin: state.hasLogin,
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

function send(response: ServerResponse, { status, body, headers = {} }: RestAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

function kindOf(method: string, path: string): RequestKind | 'update' {
  if (path.endsWith('/me')) return 'check';
  if (method === 'GET') return 'read';
  if (method === 'PATCH') return 'update';
  return method === 'POST' ? 'add' : 'remove';
}

/** Quotes all it should not: its credential, and what it was sent. */
function refuse({ status, retryAfterSeconds }: ToolFault & { does: 'answers' }, sent: string): RestAnswer {
  const quoted = `${token} ${encodeURIComponent(token)} Authorization: Bearer ${token}`;
  const headers = {
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    ...(status === 302 && { location: '/v1/me' }),
  };
  return { status, body: { error: `${sent} ${quoted}`, requestId: token }, headers };
}
