import { createHmac } from 'node:crypto';

/** The secret of a webhook: "whsec_" and 24 to 64 bytes in base64 (Standard Webhooks). */
const prefix = 'whsec_';

/**
 * Pure: the headers by which whoever knows the secret can tell that a message is ours, whole and
 * fresh (https://www.standardwebhooks.com).
 *
 * @param sentAt of this try: whoever receives it refuses what is old
 * @param body as it goes over the wire
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
