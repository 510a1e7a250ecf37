import { isIP } from 'node:net';
import type { RequestHandler } from 'express';

/**
 * Leaves only addresses in `X-Forwarded-For`. Some proxies write `203.0.113.7:51234` or `[2001:db8::1]:443`: with the
 * port, each connection of a client would count as another client, and no proxy of the chain would be a trusted one.
 */
export const dropForwardedPorts: RequestHandler = ({ headers }, _response, next) => {
  const forwarded = headers['x-forwarded-for'];
  if (forwarded !== undefined) {
    headers['x-forwarded-for'] = String(forwarded).split(',').map(withoutPort).join(', ');
  }
  next();
};

function withoutPort(entry: string): string {
  const node = entry.trim().replaceAll('"', '');
  const address = /^\[(.*)\](?::.*)?$/.exec(node)?.[1] ?? node;
  return isIP(address) === 0 ? address.replace(/:[^:]*$/, '') : address;
}
