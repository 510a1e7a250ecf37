import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RequestKind, ToolFault, ToolFaults } from '../../src/adapters/conformance/harness.ts';
import { type CvatAnswer, refuse } from './cvat-answer.ts';
import type { CvatEvent } from './cvat-events.ts';
import { createCvatRoutes } from './cvat-routes.ts';
import { type CvatOptions, type CvatState, createCvatState } from './cvat-state.ts';
import { createFaults, type FakeAnswer, headersOfRefusal, openFakeTool } from './http-fake.ts';

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
  const { of: faultOf, faults } = createFaults([token]);

  async function answer(request: IncomingMessage): Promise<CvatAnswer | null> {
    const { method = '', headers } = request;
    const line = `${method} ${request.url}`;
    const url = new URL(`http://${headers.host}${request.url}`);
    const sent = await text(request);
    const body = JSON.parse(sent || '{}') as Record<string, unknown>;
    requests.push({ line, headers, body });
    const fault = faultOf(kindOf(method, url.pathname));
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

  const url = await openFakeTool(async (request) => {
    const given = await answer(request);
    return given && toHttp(given);
  });
  const settings = { url, token, organization: 'street-signs' };
  return { url, token, state, events, requests, settings, faults };
}

function toHttp({ status, body, csv, html, headers }: CvatAnswer): FakeAnswer {
  const text = csv === undefined ? 'text/html' : 'text/csv';
  const type = csv === undefined && html === undefined ? 'application/vnd.cvat+json' : text;
  const sent = csv ?? html ?? (body === undefined ? undefined : JSON.stringify(body));
  return { status, body: sent, headers: { 'content-type': type, ...headers } };
}

function kindOf(method: string, path: string): RequestKind {
  if (/\/(about|plugins|self)$/.test(path)) return 'check';
  if (method === 'GET') return 'read';
  return method === 'POST' ? 'add' : 'remove';
}

/** Quotes all it should not: its credential, and what it was sent. */
function toQuoting(fault: ToolFault & { does: 'answers' }, sent: string): CvatAnswer {
  const detail = `${sent} ${token} ${encodeURIComponent(token)} Bearer ${token}`;
  return { ...refuse(fault.status, detail), headers: headersOfRefusal(fault, '/auth/login') };
}
