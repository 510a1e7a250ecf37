import { isIP } from 'node:net';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { httpStatusOf, toAppError } from '../../domain/errors.ts';
import type { Loop } from '../../lib/loop.ts';
import { createQuiet } from '../../lib/quiet.ts';
import type { Readiness } from '../../lib/readiness.ts';
import type { Changes } from './changes.ts';
import { measure } from './measure-store.ts';
import type { ConsoleContext } from './page.ts';
import { createHostCheck } from './request.ts';
import {
  createConsoleTokens,
  createRefusedTokens,
  createSessions,
  createSignInLimit,
  isSameText,
  type RefusedTokens,
  type SharedWithApi,
  type SignInLink,
} from './sign-in.ts';

export interface ConsoleOptions {
  loops: readonly Loop[];
  readiness: Readiness;
  changes: Changes;
  alwaysSignedIn?: SharedWithApi['alwaysSignedIn'];
  signInLink?: SignInLink | undefined;
  /** Loads the API. Like the pages, it is loaded on the first request for it. */
  loadApi(shared: SharedWithApi): Promise<RequestHandler>;
}

/** The listener for operators: health, readiness, metrics, and the pages where operators sign in. */
export function createConsoleApp(ctx: ConsoleContext, options: ConsoleOptions): Express {
  const { token, tokens: configured, hosts, trustedProxies } = ctx.config.console;
  const { metrics, box, clock } = ctx;
  const { changes, alwaysSignedIn, signInLink } = options;
  const refused = createRefusedTokens(metrics, ctx.logger, createQuiet(clock));
  const app = express();
  app.disable('x-powered-by');
  // Only assets are cached by browsers.
  app.disable('etag');
  app.set('trust proxy', trustedProxies);
  app.use(dropForwardedPorts);

  app.get('/healthz', (_request, response) => {
    const stalled = options.loops.filter((loop) => !loop.isHealthy()).map((loop) => loop.name);
    if (stalled.length === 0) response.json({ status: 'ok' });
    else response.status(503).json({ status: 'stalled', stalled });
  });
  // The same answer as on the public listener: an instance with a stalled loop still stores deliveries, so it must stay
  // in service.
  app.get('/readyz', async (_request, response) => {
    const status = await options.readiness.ask();
    response.status(status === 'ok' ? 200 : 503).json({ status });
  });
  // The token is proof enough. Without one, the host is checked, or a stranger's page could read the metrics by DNS
  // rebinding.
  const mayMeasure = token === undefined ? createHostCheck(hosts) : requireToken(token, refused);
  app.get('/metrics', mayMeasure, async (_request, response) => {
    await measure(ctx);
    response.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });

  const tokens = createConsoleTokens(configured, box);
  if (!tokens.isEmpty || alwaysSignedIn !== undefined) {
    const sessions = createSessions(tokens, box, clock, alwaysSignedIn);
    const limit = createSignInLimit(clock);
    app.use(
      '/api',
      loadedOnce(() => options.loadApi({ tokens, limit, refused, alwaysSignedIn })),
    );
    app.use(
      loadedOnce(async () => {
        const { createPages } = await import('./serve-pages.ts');
        return createPages(ctx, changes, { tokens, limit, refused, sessions, signInLink });
      }),
    );
  } else app.use(loadedOnce(async () => (await import('./console-off.ts')).createConsoleOff()));
  app.use(sendError);
  return app;
}

/** If loading fails, the next request tries again. */
function loadedOnce(load: () => Promise<RequestHandler>): RequestHandler {
  let loading: Promise<RequestHandler> | undefined;
  return async (request, response, next) => {
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
    const handler = await loading;
    await handler(request, response, next);
  };
}

/** The answer does not say why. Express needs all four parameters. */
const sendError: ErrorRequestHandler = (thrown, _request, response, _next) => {
  const { code, message } = toAppError(thrown);
  const error = code === 'forbidden' ? message : 'The console could not answer now';
  response.status(httpStatusOf(code)).json({ error, code });
};

function requireToken(token: string, refused: RefusedTokens): RequestHandler {
  return (request, response, next) => {
    const { authorization } = request.headers;
    if (isSameText(authorization ?? '', `Bearer ${token}`)) return next();
    const reason = authorization === undefined ? 'missing' : 'wrong';
    refused.report({ where: 'metrics', reason, address: request.ip });
    response.status(401).json({ error: 'The console token is required', code: 'unauthenticated' });
  };
}

/**
 * Removes ports from `X-Forwarded-For`. Some proxies write `203.0.113.7:51234` or `[2001:db8::1]:443`, which would make
 * each connection look like another client, and none of the proxies would be recognised as trusted.
 */
export const dropForwardedPorts: RequestHandler = ({ headers }, _response, next) => {
  const forwarded = headers['x-forwarded-for'];
  if (forwarded !== undefined) {
    headers['x-forwarded-for'] = String(forwarded).split(',').map(withoutPort).join(', ');
  }
  next();
};

function withoutPort(entry: string): string {
  const node = entry.trim().replaceAll('"', '');
  const address = /^\[(.*)\](?::.*)?$/.exec(node)?.[1] ?? node;
  return isIP(address) === 0 ? address.replace(/:[^:]*$/, '') : address;
}
