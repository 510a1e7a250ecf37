import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** A marketplace in which nothing is active. It says whose token it is, because otherwise it is asked for nothing else. */
export interface IdleMarketplace {
  baseUrl: string;
  /** How often contracts were listed so far. */
  lists(): number;
  close(): void;
}

/** @param more further answers, by path. Any other path is answered 404. */
export async function openIdleMarketplace({ answerMs = 0, more = {} } = {}): Promise<IdleMarketplace> {
  const answers = new Map<string, object>([
    ['/installs/current', { install: { id: 'cmi1', status: 'ACTIVE', scopes: [] } }],
    ['/contracts', { contracts: [] }],
    ...Object.entries<object>(more),
  ]);
  let lists = 0;
  const server = createServer(async (incoming, outgoing) => {
    const [where = ''] = incoming.url?.split('?') ?? [];
    const answer = answers.get(where);
    if (where === '/contracts') lists += 1;
    if (answerMs > 0) await wait(answerMs);
    outgoing.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(answer ?? { error: 'There is none', code: 'NOT_FOUND' }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, lists: () => lists, close: () => void server.close() };
}
