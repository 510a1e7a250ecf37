import { createHmac } from 'node:crypto';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Delivery } from './sandbox-state.ts';

export type HeaderPrefix = 'X-OpenTrain-' | 'X-Service-';

export interface DeliveryRequest {
  url: string;
  headers: Record<string, string>;
  /** Bytes if it differs from the signed body. */
  body: string | Buffer;
}

const userAgents = { platform: 'OpenTrain-Partner-Webhooks/1.0', employer: 'OpenTrain-Webhooks/1.0' };

/** Every attempt has a new signature, because a receiver refuses a timestamp older than five minutes. */
export function signDelivery(
  { id, type, body, endpoint }: Delivery,
  prefix: HeaderPrefix,
  at: string,
): DeliveryRequest {
  const timestamp = Math.floor(Date.parse(at) / 1000);
  const digest = createHmac('sha256', endpoint.secret).update(`${timestamp}.${body}`).digest('hex');
  return {
    url: endpoint.url,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': userAgents[endpoint.audience],
      [`${prefix}Event`]: type,
      [`${prefix}Delivery`]: id,
      [`${prefix}Signature`]: `t=${timestamp},v1=${digest}`,
    },
    body,
  };
}

type SendOutcome = { httpStatus: number } | { error: string };

/** Only the status of the answer matters. The body is read up to this size and ignored. */
const maxAnswerBytes = 64 * 1024;

/** Sends one attempt to its receiver. Each attempt has its own connection, and follows no redirect. */
export async function sendDelivery(
  request: DeliveryRequest,
  timeoutMs: number,
  stopping: AbortSignal,
): Promise<SendOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await exchange(request, AbortSignal.any([stopping, timeout]));
  } catch (error) {
    if (timeout.aborted) return { error: `no answer within ${timeoutMs} ms` };
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

async function exchange({ url, headers, body }: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const open = url.startsWith('https:') ? requestHttps : requestHttp;
    // On a kept-alive connection, an attempt could fail because the receiver closes it.
    const outgoing = open(url, { method: 'POST', headers, agent: false, signal });
    outgoing.on('response', resolve).on('error', reject).end(body);
  });
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) break;
  }
  return { httpStatus: answer.statusCode ?? 0 };
}
