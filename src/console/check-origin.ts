import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { AppError } from '../domain/errors.ts';

/**
 * Refuses what a page of another site makes a browser send. A name that an attacker points at this address (DNS
 * rebinding) is none of the hosts; an IP address cannot be pointed anywhere.
 */
export function createHostCheck(hosts: readonly string[]): RequestHandler {
  const allowed = new Set(['localhost', ...hosts.map((host) => host.toLowerCase())]);
  return (request, _response, next) => {
    const host = hostOf(request.headers.host);
    if (host !== undefined && (allowed.has(host) || isIP(host) !== 0)) return next();
    throw new AppError('forbidden', 'This name is not one of console.hosts');
  };
}

/** Whether the browser says that another site sent a form. Browsers always send one of the two headers with a form. */
export function isFromElsewhere({ headers }: Request): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

/** Without the port, in small letters; undefined if it is none. */
function hostOf(header: string | undefined): string | undefined {
  const url = `http://${header}`;
  if (!header || /[/@?#\s]/.test(header) || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/^\[|\]$/g, '').toLowerCase();
}
