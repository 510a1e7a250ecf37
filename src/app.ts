import { randomBytes } from 'node:crypto';
import type { Adapter } from './adapters/adapter.ts';
import { createAdapter } from './adapters/create-adapter.ts';
import type { Config } from './config/config-schema.ts';
import { createConsoleApp } from './console/console-app.ts';
import { createCheckpointer } from './db/checkpointer.ts';
import { createClockWorker, createDatabaseClock, type DatabaseClock } from './db/database-clock.ts';
import { createLockStore } from './db/lock-store.ts';
import { sqliteFileOf } from './db/sqlite-database.ts';
import { createClaimStore } from './engine/claim-store.ts';
import { createConvergeWorker } from './engine/converge-worker.ts';
import { createEvidenceStore } from './engine/evidence-store.ts';
import { createIntakeWorker } from './engine/intake-worker.ts';
import { createLinkRouter } from './engine/link-router.ts';
import { createReadRequestStore } from './engine/read-request-store.ts';
import { createInbox } from './inbox/inbox.ts';
import { createPurgeWorker } from './inbox/purge-worker.ts';
import { createThreadedAppend, type ThreadedAppend } from './inbox/threaded-append.ts';
import { type Clock, systemClock, toInstant } from './lib/clock.ts';
import { createHttpServer, type HttpServer } from './lib/http-server.ts';
import type { Logger } from './lib/logger.ts';
import type { Loop } from './lib/loop.ts';
import { createMetrics, type Metrics } from './lib/metrics.ts';
import { createQuiet } from './lib/quiet.ts';
import { createPlatformApi } from './marketplace/platform-api.ts';
import type { Storage } from './open-storage.ts';
import { createMarketplaceHeaders } from './receiver/marketplace-headers.ts';
import { createReceiverApp } from './receiver/receiver-app.ts';
import { createRefusalLog } from './receiver/refusal-log.ts';
import { toSigningKey } from './receiver/verify-signature.ts';
import { createReadWorker } from './reconcile/read-worker.ts';

/** A running Gangway: two listeners and the loops behind them. */
export interface App {
  /** The listener first, then the engine. */
  start(): Promise<{ receiverUrl: string; consoleUrl: string }>;
  /** The engine first, the listener last: deliveries are stored until it closes. */
  stop(): Promise<void>;
}

export interface AppDeps {
  config: Config;
  storage: Storage;
  logger: Logger;
  clock?: Clock;
  /** By tool; made from the configuration unless given. */
  adapters?: ReadonlyMap<string, Adapter>;
}

/** Names every concrete part and wires them. */
export function createApp({
  config,
  storage,
  logger,
  clock = systemClock,
  ...given
}: AppDeps): App {
  const metrics = createMetrics();
  const adapters = given.adapters ?? createAdapters(config);
  const append = createAppend(storage);
  const checkpointer = createCheckpointer(sqliteFileOf(storage.database.url), logger);
  const inbox = createInbox({ append: append.append, onAppended: () => engine.wakeIntake() });
  const { isBusy } = inbox;
  const leaseClock = createDatabaseClock(storage.database, clock);
  const engine = createEngine({
    ...{ config, storage, logger, metrics, adapters, isBusy },
    clock: leaseClock,
  });
  const receiver = createReceiver({ config, logger, clock, metrics, inbox, storage });
  const operator = createHttpServer({
    host: config.console.host,
    port: config.console.port,
    listener: createConsoleApp({
      ...{ loops: engine.loops, metrics, token: config.console.token },
      ...{ inbox: storage.inbox, memberships: storage.memberships },
    }),
  });
  return {
    async start() {
      // Nothing to store, but the thread is up before the first delivery would wait for it.
      await append.append([]);
      checkpointer.start();
      await leaseClock.correct();
      const receiverUrl = await receiver.start();
      const consoleUrl = await operator.start();
      const reread = await storage.inbox.replayUnread(toInstant(clock.now()));
      if (reread > 0) logger.info({ reread }, 'Deliveries that could not be read are read again');
      for (const loop of engine.loops) loop.start();
      return { receiverUrl, consoleUrl };
    },
    async stop() {
      await Promise.all(engine.loops.map((loop) => loop.stop()));
      await receiver.stop();
      await operator.stop();
      await append.close();
      await checkpointer.stop();
    },
  };
}

function createAdapters({ tools }: Config): Map<string, Adapter> {
  return new Map(
    [...tools].map(([name, { adapter, settings }]) => [
      name,
      createAdapter(name, adapter, settings),
    ]),
  );
}

interface EngineDeps {
  config: Config;
  storage: Storage;
  logger: Logger;
  clock: DatabaseClock;
  metrics: Metrics;
  adapters: ReadonlyMap<string, Adapter>;
  /** Whether deliveries are being stored right now. */
  isBusy(): boolean;
}

function createEngine(deps: EngineDeps) {
  const { config, storage, logger, clock, metrics, adapters } = deps;
  const { database, box, inbox, memberships } = storage;
  const shared = { database, logger, clock, metrics };
  const readRequests = createReadRequestStore(database);
  const claims = createClaimStore(database, box);
  const locks = createLockStore(database);

  const convergeWorkers = [...config.tools].flatMap(([tool, { concurrency, timeoutMs }]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined) return [];
    const limits = { concurrency, timeoutMs };
    return [createConvergeWorker({ ...shared, ...limits, tool, adapter, claims, locks })];
  });
  const onMembershipDue = () => {
    for (const worker of convergeWorkers) worker.wake();
  };
  const evidenceDeps = {
    ...{ evidence: createEvidenceStore(database, box), memberships },
    routeLink: createLinkRouter(config.installs, adapters),
    ...{ readRequests, onMembershipDue },
  };
  const readWorker = createReadWorker({
    ...{ ...shared, ...evidenceDeps },
    platformApis: new Map(
      [...config.installs].map(([install, { token }]) => [
        install,
        createPlatformApi({ baseUrl: config.marketplace.baseUrl, token }),
      ]),
    ),
  });
  const intakeWorker = createIntakeWorker({
    ...{ ...shared, ...evidenceDeps, inbox },
    isReceiverBusy: deps.isBusy,
    onReadWanted: () => readWorker.wake(),
  });
  const purgeWorker = createPurgeWorker({
    ...{ ...shared, inbox },
    retentionMs: config.retention.deliveriesMs,
  });
  const clockWorker = createClockWorker(clock, logger);
  const loops: Loop[] = [intakeWorker, readWorker, ...convergeWorkers, purgeWorker, clockWorker];
  return { loops, wakeIntake: () => intakeWorker.wake() };
}

/** SQLite stores in a thread of its own; PostgreSQL waits elsewhere by nature. */
function createAppend({ database, inbox, secretKey }: Storage): ThreadedAppend {
  return database.dialect === 'sqlite'
    ? createThreadedAppend({ url: database.url, key: secretKey })
    : { append: (deliveries) => inbox.append(deliveries), close: async () => undefined };
}

interface ReceiverParts extends Omit<EngineDeps, 'adapters' | 'isBusy' | 'clock'> {
  clock: Clock;
  inbox: ReturnType<typeof createInbox>;
}

function createReceiver({
  config,
  storage,
  logger,
  clock,
  metrics,
  inbox,
}: ReceiverParts): HttpServer {
  const { host, port } = config.receiver;
  const quiet = createQuiet(clock);
  const listener = createReceiverApp({
    ...{ inbox, metrics, logger, clock },
    secrets: new Map(
      [...config.installs].map(([name, { webhookSecrets }]) => [
        name,
        webhookSecrets.map(toSigningKey),
      ]),
    ),
    decoySecret: toSigningKey(randomBytes(32).toString('hex')),
    headers: createMarketplaceHeaders(config.marketplace.headerPrefixes),
    refusals: createRefusalLog({ metrics, logger, quiet }),
    quiet,
    checkStorage: () => storage.inbox.checkWritable(),
  });
  return createHttpServer({ host, port, listener });
}
