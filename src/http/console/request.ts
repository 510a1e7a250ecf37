import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import rawBody from 'raw-body';
import { AppError } from '../../domain/errors.ts';
import { type Clock, toInstant } from '../../lib/clock.ts';
import type { PageRequest } from './page.ts';
import { isSameText, type Session } from './sign-in.ts';

/** Each of the 60,000 characters of a job may take nine bytes. */
const formBytes = 1024 * 1024;

export function needSession(session: Session | undefined): Session {
  if (session === undefined) throw new AppError('unauthenticated', 'Sign in first');
  return session;
}

/** Accepts a form only from a page of the same session. */
export function refuseForged(request: Request, session: Session, form: URLSearchParams): void {
  if (isFromElsewhere(request)) throw new AppError('forbidden', 'This form was sent by another site');
  if (!isSameText(form.get('csrf') ?? '', session.csrf)) {
    throw new AppError('forbidden', 'This form belongs to another session. Reload the page');
  }
}

export function toPageRequest(
  request: Request,
  { operator, csrf }: Session,
  clock: Clock,
  form: URLSearchParams,
): PageRequest {
  return {
    operator,
    by: { actor: operator.name, at: toInstant(clock.now()), origin: `console ${request.ip}` },
    path: request.path,
    params: request.params as Record<string, string>,
    query: queryOf(request),
    form,
    csrf,
  };
}

/** Reads the query alone, because some paths are not valid URLs. */
export function queryOf({ originalUrl }: Request): URLSearchParams {
  const start = originalUrl.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : originalUrl.slice(start + 1));
}

/** Browsers send a line end as two characters. @throws AppError if the body is not a form, or is too long */
export async function readForm(request: Request): Promise<URLSearchParams> {
  if (request.is('application/x-www-form-urlencoded') === false) {
    throw new AppError('unsupported_media_type', 'Send a form');
  }
  try {
    const body = await rawBody(request, { limit: formBytes, encoding: 'utf-8' });
    return new URLSearchParams(body.replaceAll('%0D%0A', '%0A'));
  } catch (error) {
    throw new AppError('too_large', 'The form could not be read', { cause: error });
  }
}

/** An address of this console, never of another site; `/` for anything else. */
export function safePath(given: string | null): string {
  if (!given?.startsWith('/') || !URL.canParse(given, 'http://console')) return '/';
  const url = new URL(given, 'http://console');
  // A path that begins with two slashes names another host, and dot segments can hide that.
  if (url.host !== 'console' || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}`;
}

/**
 * Refuses host names that are not configured: an attacker may point a name of theirs at this address (DNS rebinding).
 * IP addresses are accepted, because nobody can point them elsewhere.
 */
export function createHostCheck(hosts: readonly string[]): RequestHandler {
  const allowed = new Set(['localhost', ...hosts.map((host) => host.toLowerCase())]);
  return (request, _response, next) => {
    const host = hostOf(request.headers.host);
    if (host !== undefined && (allowed.has(host) || isIP(host) !== 0)) return next();
    throw new AppError('forbidden', 'This host name is not in console.hosts');
  };
}

/** Whether another site sent this form. Browsers send at least one of the two headers with every form. */
export function isFromElsewhere({ headers }: Request): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

/** The host without its port, in lower case; undefined if the header is not valid. */
function hostOf(header: string | undefined): string | undefined {
  const url = `http://${header}`;
  if (!header || /[/@?#\s]/.test(header) || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/^\[|\]$/g, '').toLowerCase();
}
