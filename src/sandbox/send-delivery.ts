import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { DeliveryRequest } from './sign-delivery.ts';

type SendOutcome = { httpStatus: number } | { error: string };

/** How one attempt reaches its receiver. What is to go wrong before is up to `DeliveryFaults`. */
export type SendDelivery = (request: DeliveryRequest, signal: AbortSignal) => Promise<SendOutcome>;

/** Of the receiver's answer only the status counts; the rest is read this far and thrown away. */
const maxAnswerBytes = 64 * 1024;

/** Sends over plain HTTP, on a connection of its own, following no redirect. */
export function createSendDelivery(timeoutMs: number): SendDelivery {
  return async (request, stopping) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await exchange(request, AbortSignal.any([stopping, timeout]));
    } catch (error) {
      if (timeout.aborted) return { error: `no answer within ${timeoutMs} ms` };
      return { error: error instanceof Error ? error.message : String(error) };
    }
  };
}

async function exchange({ url, headers, body }: DeliveryRequest, signal: AbortSignal): Promise<SendOutcome> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const open = url.startsWith('https:') ? requestHttps : requestHttp;
    // A kept-alive connection that the receiver is about to close would fail an attempt by chance.
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
