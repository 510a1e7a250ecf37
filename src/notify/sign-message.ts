import { createHmac } from 'node:crypto';

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
