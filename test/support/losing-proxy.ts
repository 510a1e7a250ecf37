import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listenOnLoopback } from './http-fake.ts';

/** What becomes of a request: it is passed on, lost on the way there or on the way back, or never answered. */
export type Fate = 'passed' | 'unsent' | 'unanswered' | 'hanging';

export interface LosingProxy {
  url: string;
  /** `METHOD /path` of every request, without its query. */
  asked: string[];
}

/** Stands before the marketplace, and decides about each request. Answers are texts. */
export async function openLosingProxy(
  url: string,
  decide: (line: string) => Fate,
  rewrite: (answer: string) => string = (answer) => answer,
): Promise<LosingProxy> {
  const asked: string[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/', headers } = request;
    const line = `${method} ${path.split('?')[0]}`;
    asked.push(line);
    const fate = decide(line);
    const body = await buffer(request);
    if (fate === 'hanging') return;
    if (fate === 'unsent') return void request.socket.destroy();
    const { authorization = '', 'content-type': type = 'application/json', 'idempotency-key': key } = headers;
    const sent = await fetch(`${url}${path}`, {
      method,
      headers: { authorization, 'content-type': type, ...(key !== undefined && { 'idempotency-key': String(key) }) },
      ...(body.length > 0 && { body }),
    });
    const answered = rewrite(await sent.text());
    if (fate === 'unanswered') return void request.socket.destroy();
    response.writeHead(sent.status, { 'content-type': sent.headers.get('content-type') ?? 'application/json' });
    response.end(answered);
  }

  const server = createServer((request, response) => void answer(request, response));
  return { url: await listenOnLoopback(server), asked };
}
