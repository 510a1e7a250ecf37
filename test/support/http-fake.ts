import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { RequestKind, ToolFault, ToolFaults } from '../../src/adapters/conformance/harness.ts';

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

export interface FakeAnswer {
  status: number;
  /** JSON, or a page where it is text. */
  body?: unknown;
  headers?: Record<string, string | string[]>;
}

/** @param answer null for a request that is never answered */
export async function openFakeTool(answer: (request: IncomingMessage) => Promise<FakeAnswer | null>): Promise<string> {
  const server = createServer(async (request, response) => {
    const given = await answer(request);
    if (given === null) return;
    const { status, body, headers } = given;
    const isText = typeof body === 'string';
    response.writeHead(status, {
      'content-type': isText ? 'text/html; charset=utf-8' : 'application/json',
      ...headers,
    });
    response.end(isText ? body : body && JSON.stringify(body));
  });
  // Longer than any pause in a test, because a call fails if its connection is just being closed.
  server.keepAliveTimeout = 300_000;
  return await listenOnLoopback(server);
}

/** The fault that a test has begun in a fake tool. */
export function createFaults<Kind extends string = RequestKind>(secrets: readonly string[]) {
  let begun: { kind: Kind | RequestKind; fault: ToolFault } | undefined;
  return {
    of: (...kinds: (string | undefined)[]) => (kinds.includes(begun?.kind) ? begun?.fault : undefined),
    faults: {
      begin: (kind: Kind | RequestKind, fault: ToolFault) => {
        begun = { kind, fault };
      },
      end: () => {
        begun = undefined;
      },
      secrets,
    } satisfies ToolFaults,
  };
}

/** The headers of an answer that a fault gives. */
export function headersOfRefusal({ status, retryAfterSeconds }: ToolFault & { does: 'answers' }, location: string) {
  return {
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    ...(status === 302 && { location }),
  };
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
