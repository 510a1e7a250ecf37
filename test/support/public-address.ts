import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** An address that is known before the receiver behind it listens, as that of a proxy is. */
export interface PublicAddress {
  url: string;
  leadTo(receiverUrl: string): void;
}

export async function openPublicAddress(): Promise<PublicAddress> {
  let target: string | undefined;
  const server = createServer(async (request, response) => {
    const { 'content-type': type = '', ...headers } = request.headers;
    const signature = Object.entries(headers).filter(([name]) => name.startsWith('x-'));
    const body = new Uint8Array(await buffer(request));
    if (target === undefined) return response.writeHead(502).end();
    const asked = { method: 'POST', body, headers: { 'content-type': type, ...Object.fromEntries(signature) } };
    const answer = await fetch(`${target}${request.url}`, asked as RequestInit);
    return response.writeHead(answer.status).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(receiverUrl) {
      target = receiverUrl;
    },
  };
}
