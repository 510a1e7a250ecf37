import { Config } from '../../src/config/config-schema.ts';
import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import { type Hold, withLock } from '../../src/db/lock.ts';
import { platformEventTypes } from '../../src/domain/event.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { endpointsOf, type StoredEndpoint } from '../../src/installs/install-store.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { createPlatformSource, type PlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import type { Endpoint } from '../../src/marketplace/source-records.ts';
import { checkSubscription } from '../../src/subscription/subscription-job.ts';
import { findSubscription, type SubscriptionRecord } from '../../src/subscription/subscription-store.ts';
import type { Alerting } from './alerting.ts';
import { type Dialect, postgres, sqlite } from './databases.ts';
import { contractStarted, newDelivery } from './deliveries.ts';
import { type EitherMarket, type OpenEitherMarket, openSandbox, openSecond } from './either-market.ts';
import { createTestContext } from './engine-harness.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createLogLines } from './log-lines.ts';

/**
 * The subscription of the install `acme` at a marketplace, over a database of the test's own, looked
 * at when the test says so. No server listens where it delivers to.
 */
export interface SubscriptionWorld {
  market: EitherMarket;
  api: PlatformSource;
  ctx: Context;
  clock: FakeClock;
  url: string;
  check(): Promise<boolean>;
  /** Made as an operator makes one at the marketplace. */
  makeByHand(at?: string): Promise<{ id: string; secret: string }>;
  endpoints(): Promise<Endpoint[]>;
  stored(): Promise<StoredEndpoint[]>;
  record(): Promise<SubscriptionRecord>;
  /** Whether a reading of the install was wanted; asking resets that. */
  takeReadWanted(): Promise<boolean>;
  /** Hires people until so many deliveries have failed. */
  failDeliveries(count: number): Promise<void>;
  /** Has a delivery be accepted now. */
  accept(): Promise<void>;
  /** Those so far, as `kind: message`. */
  alerts(): string[];
}

/** Each marketplace and each database, and not each with each: they know nothing of each other. */
export const surroundings: [string, OpenEitherMarket, Dialect][] = [
  ['at the sandbox, on SQLite', openSandbox, sqlite],
  ['at the second marketplace, on PostgreSQL', openSecond, postgres],
];

interface WorldOptions {
  /** Has the alerts heard. */
  hears?: Alerting['hears'];
  hasConfiguredSecrets?: boolean;
  endpointsPerInstall?: number;
}

const { signal } = new AbortController();

/** As the watch checks it. @returns false while another process has the subscription */
export async function checkOf(ctx: Context): Promise<boolean> {
  const lock = { name: 'subscription:acme', what: 'The endpoint', leaseMs: 120_000, patienceMs: 0, signal };
  const check = async (hold: Hold) => {
    await checkSubscription(ctx, 'acme', hold, signal);
    return true;
  };
  return (await withLock(ctx, lock, check)) ?? false;
}

export async function openSubscriptionWorld(
  openMarket: OpenEitherMarket,
  database: Database,
  { hasConfiguredSecrets = false, hears, ...limits }: WorldOptions = {},
): Promise<SubscriptionWorld> {
  const clock = createFakeClock();
  const market = await openMarket(clock, limits);
  const api = createPlatformSource(market);
  const log = createLogLines();
  const publicUrl = 'http://127.0.0.1:9';
  const url = `${publicUrl}/webhooks/acme`;
  const webhookSecrets = hasConfiguredSecrets ? ['whsec_of_configuration'] : [];
  const config = Config.parse({
    receiver: { publicUrl },
    installs: { acme: { token: market.token, webhookSecrets, tool: 'list' } },
    tools: { list: { adapter: 'roster', path: 'roster.json' } },
  });
  const ctx = createTestContext(database, {
    config,
    clock,
    logger: log.logger,
    sources: new Map([['acme', api]]),
    alerts: createAlerts(log.logger, createMetrics(), hears?.({ database, clock, logger: log.logger })),
  });
  let number = 0;
  const next = () => {
    number += 1;
    return number;
  };
  return {
    market,
    api,
    ctx,
    clock,
    url,
    check: () => checkOf(ctx),
    async makeByHand(at = url) {
      const { endpoint, secret } = await api.createEndpoint({ url: at, eventTypes: platformEventTypes }, signal);
      return { id: endpoint.id, secret };
    },
    endpoints: () => api.listEndpoints(signal),
    stored: () => endpointsOf(ctx, 'acme'),
    record: () => findSubscription(ctx, 'acme'),
    async takeReadWanted() {
      const deleted = await database.kysely.deleteFrom('installState').executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
    async failDeliveries(count) {
      const jobId = market.createJob();
      await api.createLink({ externalProjectId: `p-${jobId}`, jobId }, signal);
      // The event of the link itself.
      for (let failed = 1; failed < count; failed += 1) market.hire(jobId, `u${next()}`);
      await market.settle();
    },
    async accept() {
      const receivedAt = clock.now().toISOString();
      const delivery = newDelivery(contractStarted(next()), { receivedAt });
      await appendDeliveries(ctx, [delivery]);
    },
    alerts: () =>
      log.lines().flatMap(({ alert, msg, says }) => {
        if (alert !== undefined) return [`${alert}: ${msg}`];
        return says === undefined ? [] : [`endpoint_trouble: ${says}`];
      }),
  };
}
