import { type ErrorRequestHandler, type Request, Router } from 'express';
import { html } from 'hono/html';
import { AppError, httpStatusOf, toAppError } from '../../domain/errors.ts';
import { badRequestStatusOf } from '../../lib/http-server.ts';
import type { Logger } from '../../lib/logger.ts';
import { countWaiting } from '../../operations/members.ts';
import type { Changes } from './changes.ts';
import { type Counts, createAssets, securityHeaders, send } from './layout.ts';
import type { Act, ConsoleContext, Redirect, View } from './page.ts';
import { hireActs, hireViews } from './pages/hire-pages.ts';
import { showHome } from './pages/home-page.ts';
import { connect, showConnect, showInstall } from './pages/install-pages.ts';
import { lists, search } from './pages/lists.ts';
import { showContract, showMembership, showTrainer } from './pages/membership-pages.ts';
import { approve, reject, showPlan } from './pages/plan-page.ts';
import { downloadBody, showAct, showBudget, showDelivery, showDoctor, showSettings } from './pages/records.ts';
import { downloadWork, showContractWork, showHeld, showWork } from './pages/work-pages.ts';
import { createHostCheck, needSession, readForm, refuseForged, safePath, toPageRequest } from './request.ts';
import { actViews, acts as operationActs, orAgain } from './run-operation.ts';
import type { Session, Sessions } from './sign-in.ts';
import { addSignIn, type SignIn } from './sign-in-page.ts';

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
  ...hireViews,
  { path: '/doctor', show: showDoctor },
  { path: '/settings', show: showSettings },
  ...actViews,
];

export const acts: readonly Act[] = [
  { path: '/connect/now', act: orAgain(showConnect, connect) },
  { path: '/plans/:plan/approve', act: approve },
  { path: '/plans/:plan/reject', act: reject },
  ...hireActs,
  ...operationActs,
];

/** The way of a request to a page: host, session, CSRF token, role, and then the page itself. */
export function createPages(ctx: ConsoleContext, changes: Changes, signIn: SignIn): Router {
  const { clock } = ctx;
  const { sessions } = signIn;
  const notices = createNotices();
  const router = Router();
  router.use(securityHeaders);
  router.use(createHostCheck(ctx.config.console.hosts));
  router.use(createAssets());
  router.use((_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  });
  addSignIn(router, signIn);

  router.get('/changes', (request, response) => {
    needSession(sessions.read(request));
    changes.follow(response);
  });
  for (const { path, show } of views) {
    router.get(path, async (request, response) => {
      const session = sessions.read(request);
      if (session === undefined) {
        response.redirect(303, `/sign-in?${new URLSearchParams({ back: request.originalUrl })}`);
        return;
      }
      const answer = await show(toPageRequest(request, session, clock, new URLSearchParams()), ctx);
      // An open page that follows a change would take the notice from the page that the act leads to.
      const notice = request.get('x-refresh') === undefined ? notices.take(session) : undefined;
      await send(response, answer, { path: request.path, isLive: true, session, counts: await countsOf(ctx), notice });
    });
  }
  for (const { path, act } of acts) {
    router.post(path, async (request, response) => {
      const session = needSession(sessions.read(request));
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
  router.use(createErrorPage(ctx.logger, sessions));
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

/** Only the log has the cause of an unexpected error. */
function createErrorPage(logger: Logger, sessions: Sessions): ErrorRequestHandler {
  return async (thrown, request, response, _next) => {
    const refused = badRequestStatusOf(thrown);
    const error = refused === undefined ? toAppError(thrown) : new AppError('invalid', 'This request cannot be read');
    const isOwn = error.code !== 'internal';
    if (!isOwn) logger.error({ err: error, path: request.path }, 'A page of the console failed');
    const says = isOwn ? error.message : 'This did not work. The log says why.';
    const status = refused ?? httpStatusOf(error.code);
    const back = request.method === 'POST' ? pageBefore(request) : undefined;
    const title = status === 404 ? 'Not found' : 'This did not work';
    const body = html`<p role="alert">${says}</p>
      <p>${back !== undefined && html`<a href="${back}">Back</a> · `}<a href="/">Home</a></p>`;
    response.set('Cache-Control', 'no-store');
    await send(response, { title, body, status }, { path: request.path, session: sessions.read(request) });
  };
}

/** The page with the form; undefined if the browser did not say, or if it is on another site. */
function pageBefore({ headers: { referer, host } }: Request): string | undefined {
  if (referer === undefined || !URL.canParse(referer)) return undefined;
  const url = new URL(referer);
  return url.host === host ? safePath(`${url.pathname}${url.search}`) : undefined;
}
