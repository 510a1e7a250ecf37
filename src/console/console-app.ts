import { timingSafeEqual } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { httpStatusOf, toAppError } from '../domain/errors.ts';
import type { MembershipStore } from '../engine/membership-store.ts';
import type { InboxStore } from '../inbox/inbox-store.ts';
import type { Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';

/**
 * The operator's side, on a listener of its own. It shows how Gangway is doing and changes nothing.
 */
export interface ConsoleDeps {
  loops: readonly Loop[];
  metrics: Metrics;
  inbox: InboxStore;
  memberships: MembershipStore;
  /** How many people were removed, ever. */
  listRemoved(): Promise<{ install: string; removed: number }[]>;
  /** Asked for by everything but the health checks, where it is set. */
  token: string | undefined;
}

export function createConsoleApp(deps: ConsoleDeps): Express {
  const app = express();
  app.disable('x-powered-by');

  app.get('/healthz', (_request, response) => {
    response.json({ status: 'ok' });
  });
  app.get('/readyz', (_request, response) => {
    const stalled = deps.loops.filter((loop) => !loop.isHealthy()).map((loop) => loop.name);
    const status = stalled.length === 0 ? 'ok' : 'stalled';
    response.status(stalled.length === 0 ? 200 : 503).json({ status, stalled });
  });
  app.get('/metrics', requireToken(deps.token), async (_request, response) => {
    await measureStores(deps);
    response.type(deps.metrics.registry.contentType).send(await deps.metrics.registry.metrics());
  });

  app.use((_request, response) => {
    response.status(404).json({ error: 'There is nothing at this address', code: 'not_found' });
  });
  app.use(sendError);
  return app;
}

/** Says that it failed and not how: that is for the log. Has four parameters for express. */
const sendError: ErrorRequestHandler = (thrown, _request, response, _next) => {
  const { code } = toAppError(thrown);
  response.status(httpStatusOf(code)).json({ error: 'The console could not answer now', code });
};

function requireToken(token: string | undefined): RequestHandler {
  return (request, response, next) => {
    if (token === undefined || isSame(request.headers.authorization, `Bearer ${token}`)) {
      return next();
    }
    response.status(401).json({ error: 'The console token is needed', code: 'unauthenticated' });
  };
}

function isSame(given: string | undefined, wanted: string): boolean {
  const [a, b] = [Buffer.from(given ?? ''), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** What lies in the database is counted when somebody asks, not kept in step. */
async function measureStores({ metrics, ...stores }: ConsoleDeps): Promise<void> {
  const { inbox, memberships, listRemoved } = stores;
  const [due, counts, totals] = await Promise.all([
    inbox.countDue(),
    memberships.countByState(),
    listRemoved(),
  ]);
  metrics.dueDeliveries.set(due);
  metrics.memberships.reset();
  for (const { tool, state, count } of counts) metrics.memberships.set({ tool, state }, count);
  metrics.removals.reset();
  for (const { install, removed } of totals) metrics.removals.inc({ install }, removed);
}
