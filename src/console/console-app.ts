import { timingSafeEqual } from 'node:crypto';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Database } from '../db/database.ts';
import { readDatabaseSize } from '../db/database-size.ts';
import { httpStatusOf, toAppError } from '../domain/errors.ts';
import { type Instance, isInstanceRunning } from '../domain/instance.ts';
import type { InboxStore } from '../inbox/inbox-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Readiness } from '../lib/readiness.ts';
import type { MembershipStore } from '../memberships/membership-store.ts';
import { listOldestWaiting, listReadBegan, waitingKinds } from './waiting-store.ts';

/**
 * The listener for operators. It shows the state of Gangway and changes nothing.
 */
export interface ConsoleDeps {
  loops: readonly Loop[];
  metrics: Metrics;
  database: Database;
  /** All installs that are configured or connected, always current. */
  installs: ReadonlyMap<string, unknown>;
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
  // It answers as the public listener does. An instance with a stalled loop still stores deliveries, and must stay in
  // service.
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
async function measureStores(deps: ConsoleDeps): Promise<void> {
  const { metrics, ...stores } = deps;
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
  await measureAges(deps);
  metrics.databaseBytes.set(await readDatabaseSize(stores.database));
}

/** What waits for an install that is gone waits for ever, so it is not counted. */
async function measureAges({ metrics, database, installs, clock }: ConsoleDeps): Promise<void> {
  const now = clock.now().getTime();
  const ageOf = (since: string) => Math.max(0, (now - Date.parse(since)) / 1000);
  const ages = new Map<string, number>(waitingKinds.map((kind) => [kind, 0]));
  for (const { kind, install, since } of await listOldestWaiting(database)) {
    if (install !== null && !installs.has(install)) continue;
    ages.set(kind, Math.max(ages.get(kind) ?? 0, ageOf(since)));
  }
  for (const [kind, age] of ages) metrics.oldestWaiting.set({ kind }, age);
  const readings = await listReadBegan(database);
  metrics.readAge.reset();
  for (const { install, beganAt } of readings) {
    if (beganAt !== null && installs.has(install)) metrics.readAge.set({ install }, ageOf(beganAt));
  }
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
