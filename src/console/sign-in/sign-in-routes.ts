import type { Request, Response, Router } from 'express';
import { AppError } from '../../domain/errors.ts';
import { isFromElsewhere } from '../check-origin.ts';
import { signInPage } from '../pages/sign-in-page.ts';
import { needSession, queryOf, readForm, refuseForged, safePath } from '../request.ts';
import { send } from '../send.ts';
import type { ConsoleTokens } from './console-tokens.ts';
import type { RefusedTokens } from './refused-tokens.ts';
import type { Session, Sessions } from './session.ts';
import type { SignInLimit } from './sign-in-limit.ts';

export interface SignIn {
  tokens: ConsoleTokens;
  limit: SignInLimit;
  refused: RefusedTokens;
  sessions: Sessions;
  sessionOf(request: Request): Session | undefined;
}

/** Signing in by a token and signing out. */
export function addSignIn(router: Router, { tokens, limit, refused, sessions, sessionOf }: SignIn): void {
  const show = (response: Response, back: string, problem?: string, status = 200) =>
    send(response, { title: 'Sign in', body: signInPage(back, problem), status }, { path: '', session: undefined });

  router.get('/sign-in', async (request, response) => {
    const back = safePath(queryOf(request).get('back'));
    if (sessionOf(request) !== undefined) return response.redirect(303, back);
    await show(response, back);
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
    const owner = tokens.find(form.get('token') ?? '');
    if (owner === undefined) {
      limit.noteFailure(address);
      refused.report({ where: 'console', reason: 'wrong', address });
      return await show(response, back, "That token isn't valid.", 401);
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
