import { EventEmitter } from 'node:events';
import http, { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { clockwork, currentOwner, isDead, never, type Owner, runAs } from './clockwork.ts';

/**
 * The network of a simulation. Servers of this process reach each other only by port. Requests and answers take time and
 * can be lost.
 */

export interface Exchange {
  /** The process that sends the request. */
  from: Owner | undefined;
  method: string;
  url: URL;
  headers: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** What happens to a request. */
export interface Fate {
  /** How long the request takes to arrive. */
  thereMs: number;
  /** How long the answer takes to arrive. */
  backMs: number;
  /** Whether the request or the answer is lost, and the connection breaks. */
  lost?: 'request' | 'answer' | undefined;
  /** Replaces the answer. @param ask gets the server's answer */
  instead?: ((ask: () => Promise<Answer>) => Promise<Answer>) | undefined;
}

const calm: Fate = { thereMs: 1, backMs: 1 };

let decide: (exchange: Exchange) => Fate = () => calm;
let witness: (by: Owner) => void = () => undefined;

/** Sets what decides what happens to every request. */
export function setFates(next: (exchange: Exchange) => Fate): void {
  decide = next;
}

/** Sets what is called when a process has sent an answer. */
export function setWitness(next: (by: Owner) => void): void {
  witness = next;
}

interface VirtualServer {
  listener: RequestListener;
  owner: Owner | undefined;
}

const servers = new Map<number, VirtualServer>();
let lastPort = 20_000;

export function closeAllServers(): void {
  servers.clear();
  lastPort = 20_000;
  decide = () => calm;
  witness = () => undefined;
}

class Server extends EventEmitter {
  maxConnections = 0;
  listening = false;
  #port = 0;

  constructor(listener: RequestListener) {
    super();
    this.on('request', listener);
  }

  listen(port: number, _host: string, done: () => void): this {
    lastPort += 1;
    this.#port = port === 0 ? lastPort : port;
    servers.set(this.#port, {
      owner: currentOwner(),
      listener: (request, response) => void this.emit('request', request, response),
    });
    this.listening = true;
    queueMicrotask(done);
    return this;
  }

  address() {
    return { address: '127.0.0.1', family: 'IPv4', port: this.#port };
  }

  close(done?: () => void): this {
    servers.delete(this.#port);
    this.listening = false;
    queueMicrotask(() => done?.());
    return this;
  }

  closeIdleConnections(): void {
    // There are no idle connections: each request has its own.
  }

  closeAllConnections(): void {
    // Likewise.
  }
}

async function exchange(request: Exchange & { body: Buffer }, signal: AbortSignal | undefined): Promise<Answer> {
  if (isDead()) return await never();
  const fate = decide(request);
  await clockwork.wait(fate.thereMs, signal);
  if (fate.lost === 'request') throw unreachable('ECONNRESET');
  const server = servers.get(Number(request.url.port));
  if (server === undefined || server.owner?.isDead) throw unreachable('ECONNREFUSED');
  const ask = () => serve(server, request);
  const answered = fate.instead === undefined ? ask() : fate.instead(ask);
  const answer = await beforeAbort(answered, signal);
  await clockwork.wait(fate.backMs, signal);
  if (fate.lost === 'answer') throw unreachable('ECONNRESET');
  return answer;
}

function beforeAbort<T>(answered: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answered;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    answered.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function unreachable(code: string): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
}

function serve(
  { listener, owner }: VirtualServer,
  { method, url, headers, body }: Exchange & { body: Buffer },
): Promise<Answer> {
  const chunks: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  }) as Socket;
  Object.assign(socket, { remoteAddress: '127.0.0.1', encrypted: false, setTimeout: () => socket });
  const request = new IncomingMessage(socket);
  request.method = method;
  request.url = `${url.pathname}${url.search}`;
  request.httpVersion = '1.1';
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  const sent = { host: url.host, ...headers, ...(body.length > 0 && { 'content-length': String(body.length) }) };
  for (const [name, value] of Object.entries(sent)) {
    request.headers[name.toLowerCase()] = value;
    request.rawHeaders.push(name, value);
  }
  const response = new ServerResponse(request);
  response.sendDate = false;
  response.shouldKeepAlive = false;
  response.useChunkedEncodingByDefault = false;
  response.assignSocket(socket);
  return new Promise((resolve) => {
    const end = () => {
      if (owner?.isDead) return;
      resolve(toAnswer(Buffer.concat(chunks)));
      if (owner !== undefined) witness(owner);
    };
    response.once('finish', end);
    const run = () => {
      if (body.length > 0) request.push(body);
      request.push(null);
      request.complete = true;
      listener(request, response as Parameters<RequestListener>[1]);
    };
    if (owner === undefined) run();
    else runAs(owner, run);
  });
}

function toAnswer(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n');
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const at = line.indexOf(':');
    headers[line.slice(0, at).toLowerCase()] = line.slice(at + 1).trim();
  }
  headers['date'] ??= new Date().toUTCString();
  return { status: Number(first.split(' ')[1]), headers, body: bytes.subarray(end + 4).toString('utf8') };
}

async function virtualFetch(address: string | URL, init: RequestInit = {}): Promise<Response> {
  const { method = 'GET', headers, body, signal } = init;
  const sent = body === undefined || body === null ? Buffer.alloc(0) : Buffer.from(String(body));
  const request = {
    from: currentOwner(),
    method,
    url: new URL(address),
    headers: Object.fromEntries(new Headers(headers)),
    body: sent,
  };
  const answer = await exchange(request, signal ?? undefined);
  const isEmpty = answer.status === 204 || answer.status === 304;
  return new Response(isEmpty ? null : answer.body, { status: answer.status, headers: answer.headers });
}

/** As much of `http.request` as the sandbox's deliveries need. */
function virtualRequest(
  address: string | URL,
  { method = 'GET', headers = {}, signal }: { method?: string; headers?: Record<string, string>; signal?: AbortSignal },
) {
  const outgoing = new EventEmitter() as EventEmitter & { end(body?: string | Buffer): void };
  outgoing.end = (body = '') => {
    const request = { from: currentOwner(), method, url: new URL(address), headers, body: Buffer.from(body) };
    exchange(request, signal).then(
      ({ status, body: text }) => {
        const incoming = Object.assign(Duplex.from([Buffer.from(text)]), { statusCode: status });
        outgoing.emit('response', incoming);
      },
      (error: unknown) => outgoing.emit('error', error),
    );
  };
  return outgoing;
}

Object.defineProperty(globalThis, 'fetch', { value: virtualFetch, writable: true, configurable: true });
Object.assign(http, {
  createServer: (options: object | RequestListener, listener?: RequestListener) =>
    new Server((listener ?? options) as RequestListener),
  request: virtualRequest,
});
syncBuiltinESMExports();
