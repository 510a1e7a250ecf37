import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RequestKind, ToolFault, ToolFaults } from '../../src/adapters/conformance/harness.ts';
import { createFaults, type FakeAnswer, headersOfRefusal, openFakeTool } from './http-fake.ts';
import { createRestToolState, type RestToolOptions } from './rest-tool-state.ts';

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
  const { of: faultOf, faults } = createFaults<'any'>([token]);

  async function answer(request: IncomingMessage): Promise<FakeAnswer | null> {
    const { method = '', headers } = request;
    const url = new URL(`http://${headers.host}${request.url}`);
    const body: unknown = JSON.parse((await text(request)) || 'null');
    requests.push({ line: `${method} ${request.url}`, headers, body });
    const fault = faultOf('any', kindOf(method, url.pathname));
    if (fault?.does === 'answers') return refuse(fault, `${request.url} ${JSON.stringify(body)}`);
    if (fault?.does === 'stalls') return null;
    if (headers.authorization !== `Bearer ${token}`) return { status: 401 };
    const given = state.answer({ method, url, body, isSwallowed: fault?.does === 'swallows' });
    return fault?.does === 'goes_silent' ? null : given;
  }

  return {
    url: `${await openFakeTool(answer)}/v1`,
    token,
    requests,
    members: state.members,
    users: state.users,
    seed: (project, email, status) => void state.seed(project, email, status),
    seedAccount: (email) => void state.seedAccount(email),
    giveOut: state.giveOut,
    hasLogin: state.hasLogin,
    faults,
  };
}

function kindOf(method: string, path: string): RequestKind | 'update' {
  if (path.endsWith('/me')) return 'check';
  if (method === 'GET') return 'read';
  if (method === 'PATCH') return 'update';
  return method === 'POST' ? 'add' : 'remove';
}

/** Quotes all it should not: its credential, and what it was sent. */
function refuse(fault: ToolFault & { does: 'answers' }, sent: string): FakeAnswer {
  const quoted = `${token} ${encodeURIComponent(token)} Authorization: Bearer ${token}`;
  const body = { error: `${sent} ${quoted}`, requestId: token };
  return { status: fault.status, body, headers: headersOfRefusal(fault, '/v1/me') };
}
