import { randomBytes } from 'node:crypto';
import { type ErrorRequestHandler, type Request, Router } from 'express';
import helmet from 'helmet';
import { html } from 'hono/html';
import { countUndelivered } from '../converge/handover-store.ts';
import { AppError, httpStatusOf, toAppError } from '../domain/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { countHeld } from '../memberships/membership-list-store.ts';
import type { OperationContext } from '../operations/operation.ts';
import { createAssets } from './assets.ts';
import type { Changes } from './changes.ts';
import { createHostCheck } from './check-origin.ts';
import type { SharedWithApi } from './console-parts.ts';
import type { Counts } from './layout.ts';
import { acts, views } from './pages.ts';
import { askedBy, needSession, readForm, refuseForged } from './request.ts';
import { send } from './send.ts';
import type { Session, Sessions } from './sign-in/session.ts';
import { addSignIn } from './sign-in/sign-in-routes.ts';

/** The way of a request to a page: host, session, role, token of the form, and then the page itself. */
interface Way extends SharedWithApi {
  sessions: Sessions;
  changes: Changes;
}

export function createPages(ctx: OperationContext, way: Way): Router {
  const { clock } = ctx;
  const sessionOf = createSessionOf(way);
  const router = Router();
  router.use(securityHeaders);
  router.use(createHostCheck(ctx.config.console.hosts));
  router.use(createAssets());
  router.use((_request, response, next) => {
    response.set('Cache-Control', 'no-store');
    next();
  });
  addSignIn(router, { ...way, sessionOf });

  router.get('/changes', (request, response) => {
    needSession(sessionOf(request));
    way.changes.follow(request, response);
  });
  for (const { path, show } of views) {
    router.get(path, async (request, response) => {
      const session = sessionOf(request);
      if (session === undefined) {
        response.redirect(303, `/sign-in?${new URLSearchParams({ back: request.originalUrl })}`);
        return;
      }
      const asked = askedBy(request, session, clock, new URLSearchParams());
      const answer = await show(asked, ctx);
      await send(response, answer, { path: request.path, isLive: true, session, counts: await countsOf(ctx) });
    });
  }
  for (const { path, act } of acts) {
    router.post(path, async (request, response) => {
      const session = needSession(sessionOf(request));
      const form = await readForm(request);
      refuseForged(request, session, form);
      if (session.operator.role !== 'operator') throw new AppError('forbidden', 'A viewer cannot do this');
      const asked = askedBy(request, session, clock, form);
      await send(response, await act(asked, ctx), { path: request.path, session, counts: await countsOf(ctx) });
    });
  }
  router.use(() => {
    throw new AppError('not_found', 'There is no such page');
  });
  router.use(createErrorPage(ctx.logger, sessionOf));
  return router;
}

/** What waits for a person, beside the sections of the side bar. */
async function countsOf({ database: { kysely } }: OperationContext): Promise<Counts> {
  return { '/plans': await countHeld(kysely), '/invitations': await countUndelivered(kysely) };
}

type SessionOf = (request: Request) => Session | undefined;

function createSessionOf({ sessions, alwaysSignedIn }: Way): SessionOf {
  // The host check keeps out names that strangers point here, so no page of another site can read it.
  const csrf = randomBytes(16).toString('hex');
  return alwaysSignedIn === undefined ? sessions.read : () => ({ operator: alwaysSignedIn, csrf });
}

/** The reason of an error that is not expected is in the log. */
function createErrorPage(logger: Logger, sessionOf: SessionOf): ErrorRequestHandler {
  return async (thrown, request, response, _next) => {
    const refused = refusalOf(thrown);
    const error = refused === undefined ? toAppError(thrown) : new AppError('invalid', 'This request cannot be read');
    const isOwn = error.code !== 'internal';
    if (!isOwn) logger.error({ err: error, path: request.path }, 'A page of the console failed');
    const says = isOwn ? error.message : 'This did not work. The log says why.';
    const status = refused ?? httpStatusOf(error.code);
    const title = status === 404 ? 'Not found' : 'This did not work';
    const page = {
      title,
      body: html`<p role="alert">${says}</p>
        <p><a href="/">Home</a></p>`,
      status,
    };
    response.set('Cache-Control', 'no-store');
    await send(response, page, { path: request.path, session: sessionOf(request) });
  };
}

/** The status with which Express refuses a request: an address that it cannot decode, or a condition that is not met. */
function refusalOf(thrown: unknown): number | undefined {
  const isOwn = thrown instanceof AppError || !(thrown instanceof Error);
  const status = !isOwn && 'status' in thrown ? Number(thrown.status) : 500;
  return status >= 400 && status < 500 ? status : undefined;
}

const none = ["'none'"];
const self = ["'self'"];

/** Nothing is loaded from elsewhere, nothing runs that stands in a page, and no other page shows this one. */
const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: none,
      scriptSrc: self,
      styleSrc: self,
      imgSrc: self,
      connectSrc: self,
      formAction: self,
      baseUri: none,
      frameAncestors: none,
    },
  },
  xFrameOptions: { action: 'deny' },
  // Browsers send the origin of a form only to where they would send the referrer.
  referrerPolicy: { policy: 'same-origin' },
  strictTransportSecurity: false,
});
