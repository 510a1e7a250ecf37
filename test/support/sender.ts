import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { sign } from './sign.ts';

/** Somebody who sends signed deliveries over a bounded number of kept connections. */
export interface Sender {
  /** @throws what the connection threw, when there was no whole answer */
  send(url: string, body: string, deliveryId: string): Promise<SentAnswer>;
  /** Drops the connections that lie idle: their other end may be gone. */
  forget(): void;
}

export interface SentAnswer {
  status: number;
  /** `accepted`, `duplicate`, …; the code where it was refused. */
  said: string;
  ms: number;
}

export function createSender(secret: string, connections: number): Sender {
  let agent = createAgent(connections);
  onTestFinished(() => agent.destroy());
  return {
    send: (url, body, deliveryId) => exchange(agent, url, body, deliveryId, secret),
    forget() {
      agent.destroy();
      agent = createAgent(connections);
    },
  };
}

function createAgent(maxSockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets });
}

async function exchange(
  agent: Agent,
  url: string,
  body: string,
  deliveryId: string,
  secret: string,
): Promise<SentAnswer> {
  const begunAt = performance.now();
  const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const outgoing = request(url, {
      agent,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-opentrain-delivery': deliveryId,
        'x-opentrain-signature': sign(body, secret, Math.floor(Date.now() / 1000)),
      },
    });
    outgoing.on('response', (incoming) => {
      const status = incoming.statusCode ?? 0;
      text(incoming).then((said) => resolve({ status, text: said }), reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
  const { status, code } = JSON.parse(answer.text) as { status?: string; code?: string };
  return { status: answer.status, said: status ?? code ?? '', ms: performance.now() - begunAt };
}
