import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { loadAdapters } from '../../src/adapters/load-adapters.ts';
import { createApp } from '../../src/app/app.ts';
import { createServices, type Services } from '../../src/app/services.ts';
import { type OpenStorage, openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { createDatabaseClock } from '../../src/db/database-clock.ts';
import { platformEventTypes } from '../../src/domain/event.ts';
import { findBody } from '../../src/inbox/inbox-store.ts';
import { createInstallRegistry } from '../../src/installs/install-registry.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { createPlatformSource, type PlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import type { Endpoint } from '../../src/marketplace/source-records.ts';
import { ensureEndpoint } from '../../src/subscription/change-endpoint.ts';
import type { Dialect } from './databases.ts';
import type { EitherMarket, OpenEitherMarket } from './either-market.ts';
import { createFakeClock, type FakeClock, toDatabaseClock } from './fake-clock.ts';
import { createFolder } from './folder.ts';
import { type FrontDoor, openFrontDoor } from './front-door.ts';
import { hardlyEver } from './journey.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import { pollMs } from './poll-ms.ts';

/** A bridge that is reached through a door, and watches its subscription. */
export interface WatchedBridge {
  market: EitherMarket;
  api: PlatformSource;
  clock: FakeClock;
  log: LogLines;
  storage: OpenStorage;
  door: FrontDoor;
  receiverUrl: string;
  jobId: string;
  /** As a command beside it sees it. */
  services: Services;
  endpoints(): Promise<Endpoint[]>;
  /** The contracts that deliveries were about, each once per delivery. */
  delivered(): Promise<string[]>;
}

interface BridgeOptions {
  /** With these in its configuration, and an endpoint by hand; else with an endpoint of its own. */
  webhookSecrets?: string[];
}

const { signal } = new AbortController();

export async function openWatchedBridge(
  openMarket: OpenEitherMarket,
  dialect: Dialect,
  { webhookSecrets = [] }: BridgeOptions = {},
): Promise<WatchedBridge> {
  // What has the time of this machine, as a process beside it, begins at the same.
  const clock = createFakeClock(new Date().toISOString());
  const market = await openMarket(clock);
  const { token } = market;
  const api = createPlatformSource({ baseUrl: market.baseUrl, token });
  const door = await openFrontDoor();
  const log = createLogLines();
  const storage = await openStorage(await dialect.createMigrated(), randomBytes(32));
  onTestFinished(() => storage.database.close());
  const config = Config.parse({
    receiver: { host: '127.0.0.1', port: 0, drain: '0s', publicUrl: door.url },
    console: { port: 0 },
    marketplace: { baseUrl: market.baseUrl },
    reconcile: { schedule: hardlyEver },
    installs: { acme: { token, webhookSecrets, tool: 'list' } },
    tools: { list: { adapter: 'roster', path: path.join(createFolder(), 'roster.json') } },
  });
  const adapters = await loadAdapters(config);
  const registry = createInstallRegistry(storage, config);
  await registry.load();
  const parts = { config, storage, logger: log.logger, adapters, registry };
  const services = createServices({
    ...parts,
    metrics: createMetrics(),
    clock: createDatabaseClock(storage.database, clock),
  });
  if (webhookSecrets.length === 0) {
    await ensureEndpoint(services, 'acme', { mayMove: false, signal });
  } else {
    await api.createEndpoint({ url: `${door.url}/webhooks/acme`, eventTypes: platformEventTypes }, signal);
  }
  const app = createApp({
    config,
    storage,
    clock,
    databaseClock: toDatabaseClock(clock),
    logger: log.logger,
    adapters,
    pollMs,
    hasThreads: false,
  });
  onTestFinished(() => app.stop());
  const { receiverUrl } = await app.start();
  door.leadTo(receiverUrl);
  const jobId = market.createJob();
  await api.createLink({ externalProjectId: 'signs', jobId }, signal);
  return {
    market,
    api,
    clock,
    log,
    storage,
    door,
    receiverUrl,
    jobId,
    services,
    endpoints: () => api.listEndpoints(signal),
    async delivered() {
      const rows = await storage.database.kysely
        .selectFrom('delivery')
        .select('id')
        .where('eventType', '=', 'contract.started')
        .execute();
      const bodies = await Promise.all(rows.map(({ id }) => findBody(storage, id)));
      return bodies.map((body) => {
        const { resourceId } = JSON.parse(String(body)) as { resourceId: string };
        return resourceId;
      });
    },
  };
}
