import { createHmac } from 'node:crypto';
import { runbookOf } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import { adviceOf } from '../lib/troubles.ts';
import type { Channel, Message } from './channel.ts';
import { longestPostMs, postMessage } from './post-message.ts';

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
    const { isOver, isRepeat, endsAtOnce, since, message, about } = notice;
    const state = isOver ? 'over' : 'raised';
    const help = { advice: adviceOf(type), runbook: runbookOf(notice.kind) };
    return { type, timestamp, data: { state, isRepeat, endsAtOnce, since, message, about, ...help } };
  }
  const { install, contractId, isRepeat, budget } = notice;
  const subject = { install, contractId, isRepeat, budget };
  if (type === 'budget.ok') return { type, timestamp, data: { state: 'over', ...subject } };
  const help = { advice: adviceOf(type), runbook: runbookOf(type) };
  return { type, timestamp, data: { state: 'raised', ...subject, ...help } };
}

/** The secret of a webhook: "whsec_" and 24 to 64 bytes in base64 (Standard Webhooks). */
const prefix = 'whsec_';

/**
 * Pure: the headers that prove to a receiver with the secret that a message is ours, complete and fresh
 * (https://www.standardwebhooks.com).
 *
 * @param sentAt of this try: receivers refuse old messages
 * @param body exactly as it is sent
 */
export function signMessage(secret: string, id: string, sentAt: Date, body: string): Record<string, string> {
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
