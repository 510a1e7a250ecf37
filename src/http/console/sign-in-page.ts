import type { Response, Router } from 'express';
import { html } from 'hono/html';
import { AppError } from '../../domain/errors.ts';
import { send } from './layout.ts';
import type { Html } from './page.ts';
import { isFromElsewhere, needSession, queryOf, readForm, refuseForged, safePath } from './request.ts';
import type { Sessions, SharedWithApi, SignInLink, TokenOwner } from './sign-in.ts';

export interface SignIn extends Omit<SharedWithApi, 'alwaysSignedIn'> {
  sessions: Sessions;
  signInLink: SignInLink | undefined;
}

/** Signs in with a token or with the link that `gangway start` prints, and signs out. */
export function addSignIn(router: Router, signIn: SignIn): void {
  const { tokens, limit, refused, sessions, signInLink } = signIn;
  const show = (response: Response, body: Html, status = 200) =>
    send(response, { title: 'Sign in', body, status }, { path: '/', session: undefined });

  /** The person whom a form signs in, or why it signs in nobody. */
  function find(form: URLSearchParams): TokenOwner | string {
    const code = form.get('code');
    if (code === null) return tokens.find(form.get('token') ?? '') ?? "That token isn't valid.";
    const owner = signInLink?.use(code) ? tokens.operator : undefined;
    return owner ?? 'That link was used or has expired. Enter your token.';
  }

  router.get('/sign-in', async (request, response) => {
    const back = safePath(queryOf(request).get('back'));
    if (sessions.read(request) !== undefined) return response.redirect(303, back);
    await show(response, tokenForm(back));
  });

  router.get('/sign-in/:code', async (request, response) => {
    if (sessions.read(request) !== undefined) return response.redirect(303, '/');
    await show(response, linkForm(request.params.code));
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
      return await show(response, tokenForm(back, 'Too many tries. Wait a minute.'), 429);
    }
    const owner = find(form);
    if (typeof owner === 'string') {
      limit.noteFailure(address);
      refused.report({ where: 'console', reason: 'wrong', address });
      return await show(response, tokenForm(back, owner), 401);
    }
    sessions.open(request, response, owner);
    response.redirect(303, back);
  });

  router.post('/sign-out', async (request, response) => {
    refuseForged(request, needSession(sessions.read(request)), await readForm(request));
    sessions.close(request, response);
    response.redirect(303, '/sign-in');
  });
}

/** @param back the requested page */
function tokenForm(back: string, problem?: string): Html {
  return html`<form class="form" method="post" action="/sign-in">
    ${problem && html`<p class="bad" role="alert">${problem}</p>`}
    <input type="hidden" name="back" value="${back}" />
    <label for="token">Your token</label>
    <input id="token" name="token" type="password" autocomplete="current-password" required autofocus />
    <button class="main">Sign in</button>
    <p class="quiet">Tokens are configured in <code>console.tokens</code>, one for each person.</p>
  </form>`;
}

/** A button, so that a program that only follows the link does not use it up. */
function linkForm(code: string): Html {
  return html`<form class="form" method="post" action="/sign-in">
    <input type="hidden" name="code" value="${code}" />
    <button class="main" autofocus>Sign in</button>
    <p class="quiet">This link works once, for 10 minutes after Gangway started.</p>
  </form>`;
}
