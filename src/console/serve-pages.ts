import { randomBytes } from 'node:crypto';
import { type ErrorRequestHandler, type Request, Router } from 'express';
import { html } from 'hono/html';
import { AppError, httpStatusOf, toAppError } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { countWaiting } from '../operations/members.ts';
import { createAssets, securityHeaders } from './assets.ts';
import type { Changes } from './changes.ts';
import { type Counts, send } from './layout.ts';
import type { ConsoleContext, Redirect } from './page.ts';
import { acts, views } from './pages.ts';
import { createHostCheck, needSession, readForm, refuseForged, safePath, toPageRequest } from './request.ts';
import type { Session } from './sign-in/session.ts';
import { addSignIn, type SessionOf, type SignIn } from './sign-in/sign-in-routes.ts';

/** The way of a request to a page: host, session, role, token of the form, and then the page itself. */
export function createPages(ctx: ConsoleContext, changes: Changes, signIn: SignIn): Router {
  const { clock } = ctx;
  const sessionOf = createSessionOf(signIn);
  const notices = createNotices();
  const router = Router();
  router.use(securityHeaders);
  router.use(createHostCheck(ctx.config.console.hosts));
  router.use(createAssets());
  router.use((_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  });
  addSignIn(router, sessionOf, signIn);

  router.get('/changes', (request, response) => {
    needSession(sessionOf(request));
    changes.follow(response);
  });
  for (const { path, show } of views) {
    router.get(path, async (request, response) => {
      const session = sessionOf(request);
      if (session === undefined) {
        response.redirect(303, `/sign-in?${new URLSearchParams({ back: request.originalUrl })}`);
        return;
      }
      const answer = await show(toPageRequest(request, session, clock, new URLSearchParams()), ctx);
      const notice = notices.take(session);
      await send(response, answer, { path: request.path, isLive: true, session, counts: await countsOf(ctx), notice });
    });
  }
  for (const { path, act } of acts) {
    router.post(path, async (request, response) => {
      const session = needSession(sessionOf(request));
      const form = await readForm(request);
      refuseForged(request, session, form);
      if (session.operator.role !== 'operator') throw new AppError('forbidden', 'A viewer cannot do this');
      const answer = await act(toPageRequest(request, session, clock, form), ctx);
      if ('redirect' in answer) notices.keep(session, answer);
      await send(response, answer, { path: request.path, session, counts: await countsOf(ctx) });
    });
  }
  router.use(() => {
    throw new AppError('not_found', 'There is no such page');
  });
  router.use(createErrorPage(ctx.logger, sessionOf));
  return router;
}

/** What waits for a person, beside the sections of the side bar. */
async function countsOf(ctx: ConsoleContext): Promise<Counts> {
  const { held, invitations } = await countWaiting(ctx);
  return { '/plans': held, '/invitations': invitations };
}

const mostNotices = 1000;

/** The outcome of an act, for the next page of the same session. On another instance that page lacks it. */
function createNotices() {
  const kept = new Map<string, string>();
  return {
    keep({ csrf }: Session, { notice }: Redirect) {
      if (notice !== undefined) kept.set(csrf, notice);
      for (const oldest of [...kept.keys()].slice(0, -mostNotices)) kept.delete(oldest);
    },
    take({ csrf }: Session): string | undefined {
      const notice = kept.get(csrf);
      kept.delete(csrf);
      return notice;
    },
  };
}

function createSessionOf({ sessions, alwaysSignedIn }: SignIn): SessionOf {
  // The host check keeps out names that strangers point here, so no page of another site can read it.
  const csrf = randomBytes(16).toString('hex');
  return alwaysSignedIn === undefined ? sessions.read : () => ({ operator: alwaysSignedIn, csrf });
}

/** Only the log has the cause of an unexpected error. */
function createErrorPage(logger: Logger, sessionOf: SessionOf): ErrorRequestHandler {
  return async (thrown, request, response, _next) => {
    const refused = refusalOf(thrown);
    const error = refused === undefined ? toAppError(thrown) : new AppError('invalid', 'This request cannot be read');
    const isOwn = error.code !== 'internal';
    if (!isOwn) logger.error({ err: error, path: request.path }, 'A page of the console failed');
    const says = isOwn ? error.message : 'This did not work. The log says why.';
    const status = refused ?? httpStatusOf(error.code);
    const back = request.method === 'POST' ? pageBefore(request) : undefined;
    const title = status === 404 ? 'Not found' : 'This did not work';
    const page = {
      title,
      body: html`<p role="alert">${says}</p>
        <p>${back !== undefined && html`<a href="${back}">Back</a> · `}<a href="/">Home</a></p>`,
      status,
    };
    response.set('Cache-Control', 'no-store');
    await send(response, page, { path: request.path, session: sessionOf(request) });
  };
}

/** The page that had the form; undefined if the browser did not say, or it was on another site. */
function pageBefore({ headers: { referer, host } }: Request): string | undefined {
  if (referer === undefined || !URL.canParse(referer)) return undefined;
  const url = new URL(referer);
  return url.host === host ? safePath(`${url.pathname}${url.search}`) : undefined;
}

/** The status with which Express refuses a request: an address that it cannot decode, or a condition that is not met. */
function refusalOf(thrown: unknown): number | undefined {
  const isOwn = thrown instanceof AppError || !(thrown instanceof Error);
  const status = !isOwn && 'status' in thrown ? Number(thrown.status) : 500;
  return status >= 400 && status < 500 ? status : undefined;
}
