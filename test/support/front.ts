import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback } from './http-fake.ts';

/** A proxy before a marketplace, which answers instead of it if the test says so. */
export interface Front {
  baseUrl: string;
  /** From now on; by default everything is passed on. */
  meddle(meddling?: Meddling): void;
  /** Every request since the last meddling, as path and query. */
  asked(): string[];
}

/** What is answered instead; undefined passes it on. */
export type Meddling = (asked: Asked) => Promise<Instead | undefined> | Instead | undefined;

export interface Asked {
  /** Below the base address. */
  path: string;
  query: URLSearchParams;
  /** What would be answered. */
  answer(): Promise<Answer>;
}

type Answer = Record<string, Record<string, unknown>[]>;

export interface Instead {
  /** 200 by default. */
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: unknown;
  /** Whether it is never answered. */
  hangs?: true;
}

export async function openFront(baseUrl: string): Promise<Front> {
  let meddling: Meddling = () => undefined;
  const asked: string[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = '' } = request.headers;
    const url = new URL(request.url ?? '/', 'http://front.example');
    asked.push(url.pathname + url.search);
    const pass = () => fetch(`${baseUrl}${url.pathname}${url.search}`, { headers: { authorization } });
    const instead = await meddling({
      path: url.pathname,
      query: url.searchParams,
      answer: async () => (await (await pass()).json()) as Answer,
    });
    if (instead?.hangs) return;
    if (instead !== undefined) return send(response, instead);
    const passed = await pass();
    send(response, { status: passed.status, body: await passed.json() });
  }

  const server = createServer((request, response) => void answer(request, response));
  const address = await listenOnLoopback(server);
  return {
    baseUrl: address,
    meddle(wanted = () => undefined) {
      meddling = wanted;
      asked.length = 0;
    },
    asked: () => [...asked],
  };
}

function send(response: ServerResponse, { status = 200, headers = {}, body = {} }: Instead): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
