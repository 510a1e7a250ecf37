import { timingSafeEqual } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import { httpStatusOf, toAppError } from '../domain/errors.ts';
import { type Instance, isInstanceRunning } from '../domain/instance.ts';
import type { InboxStore } from '../inbox/inbox-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Readiness } from '../lib/readiness.ts';
import type { MembershipStore } from '../memberships/membership-store.ts';

/**
 * The listener for operators. It shows the state of Gangway and changes nothing.
 */
export interface ConsoleDeps {
  loops: readonly Loop[];
  metrics: Metrics;
  inbox: InboxStore;
  memberships: MembershipStore;
  readiness: Readiness;
  /** The instances that run on the database, or did so lately. */
  listInstances(): Promise<Instance[]>;
  /** The clock of the database. */
  clock: Clock;
  /** How many members were removed in total. */
  listRemoved(): Promise<{ install: string; removed: number }[]>;
  /** If it is set, every request except the health checks needs it. */
  token: string | undefined;
}

export function createConsoleApp(deps: ConsoleDeps): Express {
  const app = express();
  app.disable('x-powered-by');

  app.get('/healthz', (_request, response) => {
    const stalled = deps.loops.filter((loop) => !loop.isHealthy()).map((loop) => loop.name);
    if (stalled.length === 0) response.json({ status: 'ok' });
    else response.status(503).json({ status: 'stalled', stalled });
  });
  // The answer of the public listener: a stalled loop must not take an instance out that stores deliveries.
  app.get('/readyz', async (_request, response) => {
    const status = await deps.readiness.ask();
    response.status(status === 'ok' ? 200 : 503).json({ status });
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

/** The answer says only that it failed; the reason is in the log. Express needs the four parameters. */
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

/** Rows of the database are counted when the metrics are requested. */
async function measureStores({ metrics, ...stores }: ConsoleDeps): Promise<void> {
  const { inbox, memberships, listRemoved, listInstances } = stores;
  const [due, counts, totals, instances] = await Promise.all([
    inbox.countDue(),
    memberships.countByState(),
    listRemoved(),
    listInstances(),
  ]);
  metrics.dueDeliveries.set(due);
  metrics.memberships.reset();
  for (const { tool, state, count } of counts) metrics.memberships.set({ tool, state }, count);
  measureInstances(metrics, instances, stores.clock.now());
  metrics.removals.reset();
  for (const { install, removed } of totals) metrics.removals.inc({ install }, removed);
}

function measureInstances(metrics: Metrics, instances: readonly Instance[], now: Date): void {
  const unstopped = instances.filter(({ stoppedAt }) => stoppedAt === null);
  const running = unstopped.filter((instance) => isInstanceRunning(instance, now)).length;
  metrics.instances.set({ state: 'running' }, running);
  metrics.instances.set({ state: 'silent' }, unstopped.length - running);
  metrics.beatAge.reset();
  for (const { name, version, beatAt } of unstopped) {
    metrics.beatAge.set({ instance: name, version }, (now.getTime() - Date.parse(beatAt)) / 1000);
  }
}
