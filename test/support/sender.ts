import { Agent, type ClientRequest, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { sign } from './sign.ts';

/** A sender of signed deliveries over a bounded number of kept connections. */
export interface Sender {
  /** @throws what the connection threw, when there was no whole answer */
  send(url: string, body: string, deliveryId: string, onSent?: () => void): Promise<SentAnswer>;
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
    async send(url, body, deliveryId, onSent = () => undefined) {
      const begunAt = performance.now();
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'x-opentrain-delivery': deliveryId,
        'x-opentrain-signature': sign(body, secret, Math.floor(Date.now() / 1000)),
      };
      const outgoing = request(url, { agent, method: 'POST', headers }).once('finish', onSent);
      const answer = await exchange(outgoing, body);
      const { status, code } = JSON.parse(answer.text) as { status?: string; code?: string };
      const ms = performance.now() - begunAt;
      return { status: answer.status, said: status ?? code ?? '', ms };
    },
    forget() {
      agent.destroy();
      agent = createAgent(connections);
    },
  };
}

function createAgent(maxSockets: number): Agent {
  return new Agent({ keepAlive: true, maxSockets });
}

async function exchange(outgoing: ClientRequest, body: string): Promise<{ status: number; text: string }> {
  return await new Promise((resolve, reject) => {
    outgoing.on('response', (incoming) => {
      const status = incoming.statusCode ?? 0;
      text(incoming).then((said) => resolve({ status, text: said }), reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
