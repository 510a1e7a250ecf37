import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of a running tool, with a fixed address, that can hold requests back. */
export interface ToolFront {
  url: string;
  /** Forwards to another address, because a restarted tool has a new one. */
  leadTo(url: string): void;
  /** Holds back the next request whose path and query match; resolves when it has arrived. */
  holdNext(pattern: RegExp): Promise<Held>;
  stop(): Promise<void>;
}

export interface Held {
  /** Forwards to the tool, if there is one. */
  release(): void;
}

export async function openToolFront(): Promise<ToolFront> {
  let target = '';
  let hold: { pattern: RegExp; caught: (held: Held) => void } | null = null;

  async function pass(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = asked.url ?? '/';
    if (hold?.pattern.test(decodeURIComponent(path))) {
      const { caught } = hold;
      hold = null;
      await new Promise<void>((release) => caught({ release }));
    }
    const { method, headers } = asked;
    const passed = request(`${target}${path}`, { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response).on('error', () => response.destroy());
      answer.on('error', () => response.destroy());
    });
    // As if no server listened.
    passed.on('error', () => response.destroy());
    asked.pipe(passed);
  }

  const server = createServer((asked, response) => void pass(asked, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(url) {
      target = url;
    },
    holdNext: (pattern) =>
      new Promise((caught) => {
        hold = { pattern, caught };
      }),
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
