import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A real server on loopback that accepts posts and answers as the test says. */
export interface Hook {
  url: string;
  port: number;
  posts: HookPost[];
  /** 200 unless a test sets another one. */
  answer: (response: ServerResponse) => void;
  close(): void;
}

export interface HookPost {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export async function openHook(path = '/hook', port = 0): Promise<Hook> {
  const server = createServer(async (request, response) => {
    const { url = '', headers } = request;
    hook.posts.push({ path: url, headers, body: await text(request) });
    hook.answer(response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const taken = (server.address() as AddressInfo).port;
  const hook: Hook = {
    url: `http://127.0.0.1:${taken}${path}`,
    port: taken,
    posts: [],
    answer: (response) => void response.end('ok'),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  onTestFinished(() => hook.close());
  return hook;
}

export function answering(status: number, headers = {}, body = ''): Hook['answer'] {
  return (response) => void response.writeHead(status, headers).end(body);
}
