import { createServer } from 'node:http';
import { listenOnLoopback } from './http-fake.ts';

/** The load balancer before the bridge: one address that is known before the bridge listens, and may lead nowhere. */
export interface FrontDoor {
  url: string;
  /** Null: every request is answered 503. */
  leadTo(receiverUrl: string | null): void;
  /** The status of every answer so far. */
  answers(): number[];
}

export async function openFrontDoor(): Promise<FrontDoor> {
  let target: string | null = null;
  const answers: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { host: _, connection: __, ...headers } = request.headers;
    const answer =
      target === null
        ? undefined
        : await fetch(target + (request.url ?? ''), {
            method: 'POST',
            headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
            body: Buffer.concat(chunks),
          }).catch(() => undefined);
    const status = answer?.status ?? 503;
    answers.push(status);
    response.writeHead(status).end(await answer?.text());
  });
  const address = await listenOnLoopback(server);
  return {
    url: address,
    answers: () => answers,
    leadTo(receiverUrl) {
      target = receiverUrl;
    },
  };
}
