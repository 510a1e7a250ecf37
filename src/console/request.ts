import type { Request } from 'express';
import rawBody from 'raw-body';
import { AppError } from '../domain/errors.ts';
import { type Clock, toInstant } from '../lib/clock.ts';
import { isFromElsewhere } from './check-origin.ts';
import type { PageRequest } from './page.ts';
import { hasToken, type Session } from './sign-in/session.ts';

/** What is taken from a request, and what is refused. */

const formBytes = 256 * 1024;

export function needSession(session: Session | undefined): Session {
  if (session === undefined) throw new AppError('unauthenticated', 'Sign in first');
  return session;
}

/** A form counts only if a page of this very session contained it. */
export function refuseForged(request: Request, session: Session, form: URLSearchParams): void {
  if (isFromElsewhere(request)) throw new AppError('forbidden', 'This form was sent by another site');
  if (!hasToken(session, form.get('csrf'))) {
    throw new AppError('forbidden', 'This form is of another session: load the page again');
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

/** Read without the path, as some paths make no URL. */
export function queryOf({ originalUrl }: Request): URLSearchParams {
  const start = originalUrl.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : originalUrl.slice(start + 1));
}

/** @throws AppError where it is no form, or a very long one */
export async function readForm(request: Request): Promise<URLSearchParams> {
  if (request.is('application/x-www-form-urlencoded') === false) {
    throw new AppError('unsupported_media_type', 'Send a form');
  }
  try {
    return new URLSearchParams(await rawBody(request, { limit: formBytes, encoding: 'utf-8' }));
  } catch (error) {
    throw new AppError('too_large', 'The form could not be read', { cause: error });
  }
}

/** An address of this console, never one of another site. */
export function safePath(given: string | null): string {
  if (!given?.startsWith('/') || !URL.canParse(given, 'http://console')) return '/';
  const url = new URL(given, 'http://console');
  // A path that begins with two slashes is another host; dot segments can hide that.
  if (url.host !== 'console' || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}`;
}
