import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { type ConformanceHarness, openAdapter, runConformance } from '../../adapters/conformance.ts';
import createAdapter from './adapter.ts';

/** Runs the suite that every adapter must pass against a fake of the tool: node --test */

const token = 'a-token-of-the-tool';
const pageSize = 3;

/** The fake: its projects, with the addresses of the members by id. */
const projects = new Map(['signs', 'lamps'].map((name) => [name, new Map<number, string>()]));
let lastId = 0;

type Faults = NonNullable<ConformanceHarness['faults']>;
let begun: { kind: string; fault: Parameters<Faults['begin']>[1] } | undefined;

const server = createServer(async (request, response) => {
  const fault = begun?.kind === kindOf(request) ? begun.fault : undefined;
  const body = request.method === 'POST' ? await json(request) : null;
  if (fault?.does === 'stalls') return;
  if (fault?.does === 'answers') {
    if (fault.retryAfterSeconds !== undefined) response.setHeader('retry-after', fault.retryAfterSeconds);
    send(response, fault.status, { error: `refused ${token}`, sent: body });
    return;
  }
  const [status, answer] = fault?.does === 'swallows' ? [200, {}] : serve(request, body);
  if (fault?.does !== 'goes_silent') send(response, status, answer);
});

function kindOf({ method, url }: IncomingMessage): string {
  if (url === '/me') return 'check';
  return { POST: 'add', DELETE: 'remove' }[method ?? ''] ?? 'read';
}

function serve({ method, url = '' }: IncomingMessage, body: unknown): [status: number, body?: object] {
  const { pathname, searchParams } = new URL(url, 'http://tool');
  if (pathname === '/me') return [200, { name: 'gangway' }];
  const [, , project = '', , id] = pathname.split('/').map(decodeURIComponent);
  const members = projects.get(project);
  if (members === undefined) return [404];
  if (method === 'DELETE') return members.delete(Number(id)) ? [204] : [404];
  if (method === 'POST') {
    const { email } = body as { email: string };
    if ([...members.values()].includes(email)) return [409];
    members.set(++lastId, email);
    return [201, {}];
  }
  const all = [...members].map(([memberId, address]) => ({ id: memberId, user: { email: address } }));
  const start = (Number(searchParams.get('page')) - 1) * pageSize;
  return [200, { data: all.slice(start, start + pageSize), meta: { total: all.length } }];
}

function send(response: ServerResponse, status: number, body?: object): void {
  if (status === 302) response.setHeader('location', '/me');
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body && JSON.stringify(body));
}

server.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

const harness: ConformanceHarness = {
  adapter: await openAdapter(createAdapter, { url: `http://127.0.0.1:${port}`, token }),
  groups: ['signs', 'lamps'],
  person: (index) => ({
    trainerId: `trainer-${index}`,
    email: `trainer-${index}@example.com`,
    displayName: null,
    memberId: null,
  }),
  hasEveryGroup: false,
  crowd: pageSize + 1,
  faults: {
    begin(kind, fault) {
      begun = { kind, fault };
    },
    end() {
      begun = undefined;
    },
    secrets: [token],
  },
};

for await (const { name, outcome, reason = '' } of runConformance(harness)) {
  test(name, { skip: outcome === 'skipped' && reason }, () => assert.notEqual(outcome, 'failed', reason));
}
server.closeAllConnections();
server.close();
