import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';

/** An HTTP listener with the time-outs and the way to stop that each of Gangway's listeners needs. */
export interface HttpServer {
  /** @returns an address at which this machine reaches it, such as `http://127.0.0.1:8787` */
  start(): Promise<string>;
  /**
   * For this long it answers as before, but closes each connection after its next request, so that the
   * client connects to another instance. Resolves at once if it does not listen.
   */
  drain(forMs: number): Promise<void>;
  /** Accepts no new connections, lets requests finish for `graceMs`, and then cuts them off. */
  stop(): Promise<void>;
}

interface HttpServerOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  /** Where these are set in the configuration: `receiver` or `console`. */
  section?: string | undefined;
  listener: RequestListener;
  graceMs?: number;
  /** How long a request may take to arrive. */
  requestTimeoutMs?: number;
  /** Not limited by default. */
  maxConnections?: number;
}

/** The marketplace waits 10 s for an answer, so a longer request has no reader. */
const usualRequestTimeoutMs = 10_000;

export function createHttpServer({
  host,
  port,
  section,
  listener,
  graceMs = 5000,
  requestTimeoutMs = usualRequestTimeoutMs,
  maxConnections,
}: HttpServerOptions): HttpServer {
  const server = createServer(
    {
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: requestTimeoutMs / 10,
      keepAliveTimeout: 65_000,
    },
    listener,
  );
  let isDraining = false;
  server.prependListener('request', (_request, response) => {
    if (isDraining) response.setHeader('Connection', 'close');
  });
  if (maxConnections !== undefined) boundConnections(server, maxConnections);
  return {
    async start() {
      await listen(server, { host, port, section });
      const { address, port: bound } = server.address() as AddressInfo;
      return urlOf({ host: address, port: bound });
    },
    async drain(forMs) {
      isDraining = true;
      if (server.listening && forMs > 0) await wait(forMs);
    },
    async stop() {
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      // A keep-alive connection would stay open for a minute after its last request.
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

const wrongHost: ReadonlySet<unknown> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN']);

function listen(
  server: Server,
  { host, port, section }: Pick<HttpServerOptions, 'host' | 'port' | 'section'>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const key = wrongHost.has(error.code) ? 'host' : 'port';
      const advice = section === undefined ? '' : `. Set ${section}.${key} to another`;
      const message = `Could not listen on ${host}:${port}: ${error.message}${advice}`;
      reject(new AppError('unavailable', message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}

/** How many connections may come before others are closed. Further ones are refused. */
const spare = 64;

/**
 * Keeps at most `maxConnections` open. For one more it closes the idle ones; if there is none, the one
 * that is open longest. So a client cannot keep others out by holding its connections open.
 */
function boundConnections(server: Server, maxConnections: number): void {
  /** In the order in which they came. */
  const open = new Set<Socket>();
  server.maxConnections = maxConnections + spare;
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > maxConnections) makeRoom(server, open, maxConnections);
  });
}

/** Closed ones stay in `open` for a moment. */
function makeRoom(server: Server, open: ReadonlySet<Socket>, maxConnections: number): void {
  server.closeIdleConnections();
  const staying = [...open].filter(({ destroyed }) => !destroyed);
  for (const socket of staying.slice(0, Math.max(0, staying.length - maxConnections))) {
    socket.destroy();
  }
}

/** Where a listener is reached on this machine. One on every address is reached at the loopback. */
export function urlOf({ host, port }: { host: string; port: number }): string {
  const reached = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

/** The status of an error that Express or a body parser throws for a bad request; undefined for any other error. */
export function badRequestStatusOf(thrown: unknown): number | undefined {
  if (thrown instanceof AppError || !(thrown instanceof Error) || !('status' in thrown)) return undefined;
  const status = Number(thrown.status);
  return status >= 400 && status < 500 ? status : undefined;
}

/** @param contentEncoding the header, whose names may be in any case (RFC 9110, 8.4.1) */
export function isCompressed(contentEncoding = ''): boolean {
  return !['', 'identity'].includes(contentEncoding.trim().toLowerCase());
}
