import type { Request, Response, Router } from 'express';
import { AppError } from '../../domain/errors.ts';
import { isFromElsewhere } from '../check-origin.ts';
import { signInPage } from '../pages/sign-in-page.ts';
import { needSession, queryOf, readForm, refuseForged, safePath } from '../request.ts';
import { send } from '../send.ts';
import type { ConsoleTokens, TokenOwner } from './console-tokens.ts';
import type { RefusedTokens } from './refused-tokens.ts';
import type { Session, Sessions } from './session.ts';
import type { SignInLimit } from './sign-in-limit.ts';
import type { SignInLink } from './sign-in-link.ts';
import { signInLinkPage } from './sign-in-link-page.ts';

export interface SignIn {
  tokens: ConsoleTokens;
  limit: SignInLimit;
  refused: RefusedTokens;
  sessions: Sessions;
  sessionOf(request: Request): Session | undefined;
  signInLink: SignInLink | undefined;
}

/** Signing in by a token or by the link that `start` prints, and signing out. */
export function addSignIn(router: Router, signIn: SignIn): void {
  const { tokens, limit, refused, sessions, sessionOf, signInLink } = signIn;
  const show = (response: Response, back: string, problem?: string, status = 200) =>
    send(response, { title: 'Sign in', body: signInPage(back, problem), status }, { path: '/', session: undefined });

  /** Whom a form signs in, or why nobody. */
  function find(form: URLSearchParams): TokenOwner | string {
    const code = form.get('code');
    if (code === null) return tokens.find(form.get('token') ?? '') ?? "That token isn't valid.";
    const owner = signInLink?.use(code) ? tokens.operator : undefined;
    return owner ?? 'That link was used or has expired. Enter your token.';
  }

  router.get('/sign-in', async (request, response) => {
    const back = safePath(queryOf(request).get('back'));
    if (sessionOf(request) !== undefined) return response.redirect(303, back);
    await show(response, back);
  });

  router.get('/sign-in/:code', async (request, response) => {
    if (sessionOf(request) !== undefined) return response.redirect(303, '/');
    const page = { title: 'Sign in', body: signInLinkPage(request.params.code) };
    await send(response, page, { path: '/', session: undefined });
  });

  router.post('/sign-in', async (request, response) => {
    if (isFromElsewhere(request)) throw new AppError('forbidden', 'This form was sent by another site');
    const form = await readForm(request);
    const back = safePath(form.get('back'));
    const address = request.ip ?? '';
    const waitMs = limit.waitMs(address);
    if (waitMs > 0) {
      refused.report({ where: 'console', reason: 'too_many_tries', address });
      response.set('Retry-After', String(Math.ceil(waitMs / 1000)));
      return await show(response, back, 'Too many tries. Wait a minute.', 429);
    }
    const owner = find(form);
    if (typeof owner === 'string') {
      limit.noteFailure(address);
      refused.report({ where: 'console', reason: 'wrong', address });
      return await show(response, back, owner, 401);
    }
    sessions.open(request, response, owner);
    response.redirect(303, back);
  });

  router.post('/sign-out', async (request, response) => {
    refuseForged(request, needSession(sessionOf(request)), await readForm(request));
    sessions.close(request, response);
    response.redirect(303, '/sign-in');
  });
}
