import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../domain/errors.ts';
import { boundConnections } from './bound-connections.ts';

/** A listener with the time-outs and the ending that every one of ours needs. */
export interface HttpServer {
  /** @returns the address to reach it at, e.g. `http://127.0.0.1:8787` */
  start(): Promise<string>;
  /**
   * For so long requests are answered as before, each as the last of its connection: whoever sends
   * more may connect elsewhere. At once where it does not listen.
   */
  drain(forMs: number): Promise<void>;
  /** Takes no new connections, lets requests under way finish for `graceMs`, then cuts them. */
  stop(): Promise<void>;
}

interface HttpServerOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  listener: RequestListener;
  graceMs?: number;
  /** How long a request may take to come in. */
  requestTimeoutMs?: number;
  /** As many as there can be, unless told. */
  maxConnections?: number;
}

/** The marketplace gives up on an answer after 10 s, so a request that takes longer is nobody's. */
const usualRequestTimeoutMs = 10_000;

export function createHttpServer({
  host,
  port,
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
      await listen(server, host, port);
      const { address, family, port: bound } = server.address() as AddressInfo;
      return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`;
    },
    async drain(forMs) {
      isDraining = true;
      if (server.listening && forMs > 0) await wait(forMs);
    },
    async stop() {
      if (!server.listening) return;
      const closed = new Promise((resolve) => server.close(resolve));
      // A connection that is kept alive would outlast its last request by a minute.
      const sweep = setInterval(() => server.closeIdleConnections(), 50);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const message = `Could not listen on ${host}:${port}: ${error.message}`;
      reject(new AppError('unavailable', message, { cause: error }));
    });
    server.listen(port, host, resolve);
  });
}
