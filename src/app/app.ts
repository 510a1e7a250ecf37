import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import { usualSecondLookMs } from '../converge/converge-steps.ts';
import { createAliveLock } from '../db/alive-lock.ts';
import { createCheckpointer } from '../db/checkpointer.ts';
import type { Database, DatabaseWatch } from '../db/database.ts';
import { createDatabaseClock, type DatabaseClock } from '../db/database-clock.ts';
import { readDisk } from '../db/disk.ts';
import { createHeartbeat } from '../db/instance-store.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { createChanges } from '../http/console/changes.ts';
import { createConsoleApp } from '../http/console/console-app.ts';
import type { ConsoleContext } from '../http/console/page.ts';
import type { Operator, SignInLink } from '../http/console/sign-in.ts';
import { createStartedActs } from '../http/console/started-acts.ts';
import { createStorageGate, type StorageGate } from '../http/receiver/limits.ts';
import { createReceiverApp } from '../http/receiver/receiver-app.ts';
import { appendDeliveries } from '../inbox/append-store.ts';
import { createInbox, createThreadedAppend, type Inbox, type ThreadedAppend } from '../inbox/inbox.ts';
import { checkWritable, replayUnreadDeliveries } from '../inbox/inbox-store.ts';
import { readStored } from '../inbox/storage-store.ts';
import { createInstallRegistry, type InstallRegistry } from '../installs/install-registry.ts';
import { warningsOfInstalls } from '../installs/load-installs.ts';
import { checkKey } from '../keys/secret-key.ts';
import { type Clock, systemClock, toInstant } from '../lib/clock.ts';
import { createHttpServer, type HttpServer } from '../lib/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import type { Polling } from '../lib/loop.ts';
import { createMetrics } from '../lib/metrics.ts';
import { createReadiness, type Readiness } from '../lib/readiness.ts';
import { describeOpenWall, findOpenWalls } from '../memberships/wall.ts';
import { examineBridge } from '../operations/doctor.ts';
import { findLocalTools, findSharedAccounts } from '../tools/accounts.ts';
import { carryTools, refuseTwins } from '../tools/bind-tool.ts';
import { createLoops, type Loops, type PrepareOptions } from './loops.ts';
import type { OpenStorage } from './storage.ts';

/** A running Gangway: two listeners and the loops behind them. */
export interface App {
  /** Starts the listeners first, then the loops. */
  start(): Promise<{ receiverUrl: string; consoleUrl: string }>;
  /** All installs, once it has started. */
  installs: InstallRegistry['installs'];
  /**
   * Reports "not ready", and still stores the deliveries that come until the load balancer knows.
   * The loops stop meanwhile; the listeners stop last.
   */
  stop(): Promise<void>;
}

export interface AppDeps extends Polling {
  config: Config;
  /** Where it was read from, if it is a file. */
  configFile?: string | undefined;
  storage: OpenStorage;
  logger: Logger;
  clock?: Clock;
  /** The clock of all stored times and of leases; by default the clock of the database. */
  databaseClock?: DatabaseClock;
  /** By the name of the tool. */
  adapters: ReadonlyMap<string, Adapter>;
  startOptions?: PrepareOptions;
  /** How long the look that confirms a removal waits after the first one. */
  secondLookMs?: number;
  /** Who is signed in to the console without a token; only for a console on loopback that tries Gangway out. */
  alwaysSignedIn?: Operator;
  /** The link that `start` prints. */
  signInLink?: SignInLink | undefined;
  /** Whether SQLite stores deliveries and shortens its log in threads. Without them, requests wait while SQLite writes. */
  hasThreads?: boolean;
}

/** How often a loop looks by itself: for work that becomes due by time alone, and for missed changes. */
const usualRestMs = 5000;
/** How soon every loop looks after something was written. */
const seenWithinMs = 1000;

/** Creates every part and wires them. */
export function createApp({
  config,
  configFile,
  storage,
  logger,
  clock = systemClock,
  databaseClock: leaseClock = createDatabaseClock(storage.database, clock),
  adapters,
  startOptions = {},
  secondLookMs = usualSecondLookMs,
  pollMs = usualRestMs,
  alwaysSignedIn,
  signInLink,
  hasThreads = true,
}: AppDeps): App {
  const metrics = createMetrics();
  const append = createAppend(storage, hasThreads);
  const checkpointer = createCheckpointer(hasThreads ? sqliteFileOf(storage.database.url) : undefined, logger);
  const inbox = createInbox({
    async append(deliveries) {
      // A new thread opens the file at the path. If that is another file by now, this process would never see what the
      // thread stores.
      storage.database.checkFile?.();
      return await append.append(deliveries);
    },
    onAppended: () => loops.services.wake('intake'),
  });
  const registry = createInstallRegistry(storage, config);
  const storageGate = createStorageGateOf(config.receiver, storage.database, clock, registry.installs);
  const loops = createLoops({
    config,
    storage,
    logger,
    metrics,
    adapters,
    registry,
    inbox,
    wouldDefer: storageGate.wouldDefer,
    clock: leaseClock,
    secondLookMs,
    pollMs,
  });
  const heartbeat = createHeartbeat({ database: storage.database, clock: leaseClock, logger });
  const readiness = createReadiness(() => checkWritable(storage), clock);
  const receiver = createReceiver({ clock, inbox, readiness, storageGate, loops });
  const changes = createChanges();
  const stopping = new AbortController();
  const startedActs = createStartedActs();
  const ctx: ConsoleContext = {
    ...loops.services,
    configFile,
    registry: followed(registry, loops.loadInstalls),
    startedActs,
    examine: (signal) => examineBridge({ ...loops.services, adapters, clock }, signal),
  };
  const { host, port } = config.console;
  const operator = createHttpServer({
    host,
    port,
    section: 'console',
    listener: createConsoleApp(ctx, {
      loops: loops.all,
      readiness,
      changes,
      alwaysSignedIn,
      signInLink,
      async loadApi(shared) {
        const { createApi } = await import('../http/api/serve-api.ts');
        return createApi(ctx, shared, stopping.signal);
      },
    }),
  });
  const alive = createAliveLock(storage.database, leaseClock, findLocalTools(adapters));
  let watch: DatabaseWatch | undefined;
  return {
    installs: registry.installs,
    async start() {
      checkpointer.start();
      await leaseClock.correct();
      refuseTwins(config.tools, adapters);
      await alive.hold('bridge');
      await carryTools(storage, config.tools, logger);
      await registry.load();
      sayWarnings({ config, adapters, logger }, registry.installs);
      await loops.prepare(startOptions);
      await heartbeat.start();
      // Before the first heartbeat, the key may have been rotated.
      await checkKey(storage.database, storage.box);
      const receiverUrl = await receiver.start();
      const consoleUrl = await operator.start();
      const reread = await replayUnreadDeliveries(storage, toInstant(leaseClock.now()));
      if (reread > 0) logger.info({ reread }, 'Deliveries that could not be read are read again');
      for (const loop of loops.all) loop.start();
      const onChange = () => {
        loops.wakeAll();
        changes.tell();
      };
      watch = storage.database.watch(onChange, Math.min(pollMs, seenWithinMs));
      return { receiverUrl, consoleUrl };
    },
    async stop() {
      readiness.drain();
      await Promise.all([watch?.stop(), receiver.drain(config.receiver.drainMs), loops.stop()]);
      await receiver.stop();
      changes.close();
      stopping.abort();
      await startedActs.stop();
      await operator.stop();
      await loops.services.alertsStored();
      await append.close();
      await heartbeat.stop();
      await checkpointer.stop();
      alive.release();
    },
  };
}

function sayWarnings(
  { config, adapters, logger }: Pick<AppDeps, 'config' | 'adapters' | 'logger'>,
  installs: InstallRegistry['installs'],
): void {
  const { publicUrl } = config.receiver;
  for (const warning of warningsOfInstalls(installs, publicUrl)) logger.warn(warning);
  const { managedDomains } = config.marketplace;
  for (const { warning } of findSharedAccounts(adapters, installs, managedDomains)) {
    logger.warn(warning);
  }
  for (const wall of findOpenWalls(installs)) logger.warn(describeOpenWall(wall));
}

/** Installs that a page loads are routed by the loop that loads installs. */
function followed(registry: InstallRegistry, loadInstalls: Loops['loadInstalls']): InstallRegistry {
  return {
    ...registry,
    async load() {
      await loadInstalls(AbortSignal.timeout(30_000));
      return [];
    },
  };
}

/** SQLite blocks its thread while it writes, so it gets a thread of its own; PostgreSQL does not block. */
function createAppend(ctx: OpenStorage, hasThread: boolean): ThreadedAppend {
  return ctx.database.dialect === 'sqlite' && hasThread
    ? createThreadedAppend({ url: ctx.database.url, key: ctx.secretKey, writeTurns: ctx.database.writeTurns })
    : { append: (deliveries) => appendDeliveries(ctx, deliveries), close: async () => undefined };
}

interface ReceiverParts {
  /** The clock of this machine, by which signatures are judged. */
  clock: Clock;
  inbox: Inbox;
  readiness: Readiness;
  storageGate: StorageGate;
  loops: Loops;
}

/** The public listener with everything between it and the inbox. */
function createReceiver({ loops, ...parts }: ReceiverParts): HttpServer {
  const { config, logger, metrics, installs, alerts, clock: databaseClock } = loops.services;
  const { host, port, maxConnections, limits } = config.receiver;
  const listener = createReceiverApp({
    ...{ ...parts, logger, metrics, alerts, databaseClock, limits },
    headerPrefixes: config.marketplace.headerPrefixes,
    secretsOf: (install) => installs.get(install)?.webhookSecrets,
    loadInstalls: loops.loadInstalls,
    onStored: loops.noteDelivery,
    onUnmatched: loops.noteUnmatched,
  });
  return createHttpServer({ host, port, section: 'receiver', listener, maxConnections });
}

/** Keeps the disk for all installs. */
function createStorageGateOf(
  { limits }: Config['receiver'],
  { url, kysely }: Database,
  clock: Clock,
  installs: InstallRegistry['installs'],
): StorageGate {
  const file = sqliteFileOf(url);
  return createStorageGate({
    limits,
    clock,
    readStored: () => readStored(kysely),
    readFree: async () => (file === undefined ? null : (readDisk(file)?.freeBytes ?? null)),
    countInstalls: () => installs.size,
  });
}
