import type { Clock } from '../lib/clock.ts';
import type { Channel, Message } from './channel.ts';
import { longestPostMs, postMessage } from './post-message.ts';
import { signMessage } from './sign-message.ts';

export interface WebhookSettings {
  type: 'webhook';
  url: string;
  secret: string;
}

/** Sends each notice in a signed request of its own, at once. */
export function createWebhookChannel(
  name: string,
  { url, secret }: WebhookSettings,
  clock: Clock,
  longestSendMs = longestPostMs,
): Channel {
  return {
    name,
    gatherMs: 0,
    maxNotices: 1,
    longestSendMs,
    async send(message, signal) {
      const body = toBody(message);
      // The client sends the JSON of the same object, which is the same text.
      const headers = signMessage(secret, message.id, clock.now(), JSON.stringify(body));
      return await postMessage({ url, headers, body, timeoutMs: longestSendMs }, signal);
    },
  };
}

/** Pure, and the same at every try. */
function toBody({ createdAt, notices: [notice] }: Message): object {
  if (notice === undefined) return { type: 'test', timestamp: createdAt, data: {} };
  const { kind: type, occurredAt: timestamp } = notice;
  if ('about' in notice) {
    const { message, about } = notice;
    return { type, timestamp, data: { message, about } };
  }
  const { install, contractId, isRepeat, budget } = notice;
  return { type, timestamp, data: { install, contractId, isRepeat, budget } };
}
