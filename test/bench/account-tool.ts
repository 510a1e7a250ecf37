import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { type Asked, createAccountState } from './account-state.ts';

/** A tool with an HTTP API on loopback that has accounts, and apart from them groups of them. */
interface AccountTool {
  url: string;
  token: string;
  /** Called with every request after its effect. */
  watch(listener: (call: string) => void): void;
  close(): void;
}

/** The settings of an adapter `http` for it, with all that it can do to an account. */
export function accountSettings({ url, token }: { url: string; token: string }) {
  const members = '/groups/{group}/members';
  const whole = { items: 'data', pages: 'none' };
  return {
    url,
    token,
    offboarding: 'locks_out',
    member: { id: 'id', email: 'email' },
    requests: {
      check: { path: '/me' },
      find: { path: members, query: { email: '{email}' }, ...whole },
      findById: { path: `${members}/{memberId}`, item: 'data' },
      list: { path: members, ...whole },
      add: { path: members, body: { email: '{email}', name: '{displayName}' }, item: 'data', present: [409] },
      remove: { path: `${members}/{memberId}` },
      removeAccount: { path: '/users/{memberId}' },
      update: { path: '/users/{memberId}', body: { email: '{email}' } },
      findAccount: { path: '/users', query: { email: '{email}' }, ...whole },
    },
  };
}

export async function openAccountTool(): Promise<AccountTool> {
  const state = createAccountState();
  let watch: (call: string) => void = () => undefined;

  const server = createServer(async (request, response) => {
    const asked = toAsked(request, (await text(request)) || '{}');
    const { status, body } = state.answer(asked);
    watch(`${request.method} ${request.url} ${JSON.stringify(asked.body)} → ${status}`);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  });
  // Longer than any pause in a test: a connection that ends as it is used again fails a call.
  server.keepAliveTimeout = 300_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    token: 'account-tool-token',
    watch(listener) {
      watch = listener;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function toAsked({ method = '', url = '' }: IncomingMessage, sent: string): Asked {
  const { pathname, searchParams } = new URL(`http://127.0.0.1${url}`);
  const parts = path.posix.normalize(decodeURIComponent(pathname)).split('/').slice(2);
  const body = JSON.parse(sent) as Asked['body'];
  return { method, parts, email: searchParams.get('email'), body };
}
