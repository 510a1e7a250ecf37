import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';

interface HttpServerOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  /** The section of the configuration with both: `receiver` or `console`. */
  section?: string | undefined;
  listener: RequestListener;
  graceMs?: number;
  /** How long a request may take to arrive. */
  requestTimeoutMs?: number;
  /** Not limited by default. */
  maxConnections?: number;
}

/** The marketplace waits 10 s for an answer. */
const usualRequestTimeoutMs = 10_000;

export type HttpServer = ReturnType<typeof createHttpServer>;

/** An HTTP listener with time-outs that stops cleanly. */
export function createHttpServer({
  host,
  port,
  section,
  listener,
  graceMs = 5000,
  requestTimeoutMs = usualRequestTimeoutMs,
  maxConnections,
}: HttpServerOptions) {
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
    /** @returns the address at which this machine reaches it, such as `http://127.0.0.1:8787` */
    async start(): Promise<string> {
      await listen(server, { host, port, section });
      const { address, port: bound } = server.address() as AddressInfo;
      return urlOf({ host: address, port: bound });
    },
    /**
     * Goes on for this long, but closes each connection after its next request, so that the client connects to another
     * instance. Resolves at once if it does not listen.
     */
    async drain(forMs: number): Promise<void> {
      isDraining = true;
      if (server.listening && forMs > 0) await wait(forMs);
    },
    /** Accepts no new connections, lets requests finish for `graceMs`, then cuts them off. */
    async stop(): Promise<void> {
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

/** How many connections may come before others are closed. More are refused. */
const spare = 64;

/**
 * Keeps at most `maxConnections` open. For one more, it closes the idle ones, or else the oldest. So a client cannot keep
 * others out by holding connections open.
 */
function boundConnections(server: Server, maxConnections: number): void {
  /** The oldest first. */
  const open = new Set<Socket>();
  server.maxConnections = maxConnections + spare;
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > maxConnections) makeRoom(server, open, maxConnections);
  });
}

/** Closed connections stay in `open` for a moment. */
function makeRoom(server: Server, open: ReadonlySet<Socket>, maxConnections: number): void {
  server.closeIdleConnections();
  const staying = [...open].filter(({ destroyed }) => !destroyed);
  for (const socket of staying.slice(0, Math.max(0, staying.length - maxConnections))) {
    socket.destroy();
  }
}

/** The address of a listener on this machine. One that listens on every address is reached at the loopback. */
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
