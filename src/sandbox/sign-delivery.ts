import { createHmac } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Delivery } from './sandbox-state.ts';

export type HeaderPrefix = 'X-OpenTrain-' | 'X-Service-';

/** One attempt as it goes over the wire. */
export interface DeliveryRequest {
  url: string;
  headers: Record<string, string>;
  /** As bytes where it is not what was signed. */
  body: string | Buffer;
}

/** Signed for this attempt only: the receiver refuses a timestamp older than five minutes. */
export function signDelivery(
  { id, type, body, endpoint }: Delivery,
  prefix: HeaderPrefix,
  clock: Clock,
): DeliveryRequest {
  const timestamp = Math.floor(clock.now().getTime() / 1000);
  const digest = createHmac('sha256', endpoint.secret).update(`${timestamp}.${body}`).digest('hex');
  return {
    url: endpoint.url,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': 'OpenTrain-Partner-Webhooks/1.0',
      [`${prefix}Event`]: type,
      [`${prefix}Delivery`]: id,
      [`${prefix}Signature`]: `t=${timestamp},v1=${digest}`,
    },
    body,
  };
}
