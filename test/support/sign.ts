import { createHmac } from 'node:crypto';

/** The marketplace's signature header, made from its specification and not from our code. */
export function sign(body: Uint8Array | string, secret: string, timestamp: number | string): string {
  return `t=${timestamp},v1=${digestOf(body, secret, timestamp)}`;
}

export function digestOf(
  body: Uint8Array | string,
  secret: string | Uint8Array,
  timestamp: number | string,
  algorithm = 'sha256',
): string {
  return createHmac(algorithm, secret).update(`${timestamp}.`).update(body).digest('hex');
}
