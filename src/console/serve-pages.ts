import { randomBytes } from 'node:crypto';
import { type ErrorRequestHandler, type Request, Router } from 'express';
import { html } from 'hono/html';
import { AppError, httpStatusOf, toAppError } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { countWaiting } from '../operations/members.ts';
import type { Changes } from './changes.ts';
import { type Counts, createAssets, securityHeaders, send } from './layout.ts';
import type { Act, ConsoleContext, Redirect, View } from './page.ts';
import { showHome } from './pages/home-page.ts';
import { connect, showConnect, showInstall } from './pages/install-pages.ts';
import { lists, search } from './pages/lists.ts';
import { showContract, showMembership, showTrainer } from './pages/membership-pages.ts';
import { approve, reject, showPlan } from './pages/plan-page.ts';
import { downloadBody, showAct, showBudget, showDelivery, showDoctor, showSettings } from './pages/records.ts';
import { downloadWork, showContractWork, showHeld, showWork } from './pages/work-pages.ts';
import { createHostCheck, needSession, readForm, refuseForged, safePath, toPageRequest } from './request.ts';
import { actViews, acts as operationActs } from './run-operation.ts';
import type { Session } from './sign-in.ts';
import { addSignIn, type SessionOf, type SignIn } from './sign-in-page.ts';

/** Every page of the console, and every act. */
export const views: readonly View[] = [
  { path: '/', show: showHome },
  { path: '/search', show: search },
  ...lists,
  { path: '/memberships/:membership', show: showMembership },
  { path: '/trainers/:trainer', show: showTrainer },
  { path: '/contracts/:contract', show: showContract },
  { path: '/connect', show: showConnect },
  { path: '/installs/:install', show: showInstall },
  { path: '/plans/:plan', show: showPlan },
  { path: '/work', show: showWork },
  { path: '/work.csv', show: downloadWork },
  { path: '/work/held', show: showHeld },
  { path: '/work/contracts/:contract', show: showContractWork },
  { path: '/acts/:act', show: showAct },
  { path: '/deliveries/:delivery', show: showDelivery },
  { path: '/deliveries/:delivery/body', show: downloadBody },
  { path: '/budgets/:contract', show: showBudget },
  { path: '/doctor', show: showDoctor },
  { path: '/settings', show: showSettings },
  ...actViews,
];

export const acts: readonly Act[] = [
  // An address without a view: a page that reports a problem is then not reloaded by the script.
  { path: '/connect/now', act: connect },
  { path: '/plans/:plan/approve', act: approve },
  { path: '/plans/:plan/reject', act: reject },
  ...operationActs,
];

/** The way of a request to a page: host, session, CSRF token, role, and then the page itself. */
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

/** How many removals and invitations wait for an operator. */
async function countsOf(ctx: ConsoleContext): Promise<Counts> {
  const { held, invitations } = await countWaiting(ctx);
  return { '/plans': held, '/invitations': invitations };
}

const mostNotices = 1000;

/** The outcome of an act, for the next page of the same session. If another instance serves that page, it is not shown. */
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
  // No page of another site can read it, because the host check refuses names that strangers point here.
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

/** The page with the form; undefined if the browser did not say, or if it is on another site. */
function pageBefore({ headers: { referer, host } }: Request): string | undefined {
  if (referer === undefined || !URL.canParse(referer)) return undefined;
  const url = new URL(referer);
  return url.host === host ? safePath(`${url.pathname}${url.search}`) : undefined;
}

/** The status with which Express itself refuses a request: it cannot decode the address, or a condition is not met. */
function refusalOf(thrown: unknown): number | undefined {
  const isOwn = thrown instanceof AppError || !(thrown instanceof Error);
  const status = !isOwn && 'status' in thrown ? Number(thrown.status) : 500;
  return status >= 400 && status < 500 ? status : undefined;
}
