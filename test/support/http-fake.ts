import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface HttpFake {
  url: string;
  /** `method path` of every request, with its credential where it had one. */
  requests: { line: string; authorization: string | undefined }[];
}

/** A server of others on loopback, which answers as the test says. */
export async function openHttpFake(
  answer: (request: IncomingMessage, response: ServerResponse, count: number) => void,
): Promise<HttpFake> {
  const requests: HttpFake['requests'] = [];
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    requests.push({ line: `${method} ${url}`, authorization: headers.authorization });
    answer(request, response, requests.length);
  });
  return { url: await listenOnLoopback(server), requests };
}

/** Listens on loopback until the test has ended. @returns the address */
export async function listenOnLoopback(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function sendJson(response: ServerResponse, body: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
