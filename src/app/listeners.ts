import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../config/config-schema.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { readStored } from '../inbox/storage-store.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import { createHttpServer, type HttpServer } from '../lib/http-server.ts';
import type { Logger } from '../lib/logger.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createQuiet } from '../lib/quiet.ts';
import type { Readiness } from '../lib/readiness.ts';
import { createAdmission } from '../receiver/admission.ts';
import { createByteBudget } from '../receiver/byte-budget.ts';
import { createDeferralLog } from '../receiver/deferral-log.ts';
import { createMarketplaceHeaders } from '../receiver/marketplace-headers.ts';
import { createRateLimit } from '../receiver/rate-limit.ts';
import { createReceiverApp } from '../receiver/receiver-app.ts';
import { createRecentIds } from '../receiver/recent-ids.ts';
import { createRefusalLog } from '../receiver/refusal-log.ts';
import { createStorageGate, type StorageGate } from '../receiver/storage-gate.ts';
import type { OpenStorage } from './storage.ts';

export interface ReceiverParts {
  config: Config;
  storage: OpenStorage;
  logger: Logger;
  clock: Clock;
  databaseClock: Clock;
  metrics: Metrics;
  inbox: Inbox;
  installs: InstallRegistry['installs'];
  readiness: Readiness;
  alerts: Alerts;
  storageGate: StorageGate;
  /** Called when no secret made a signature, at most once a minute for each install. */
  onUnmatched(install: string): void;
  /** Called when a delivery was stored. */
  onStored(install: string): void;
  loadInstalls(signal: AbortSignal): Promise<void>;
}

/** The bodies of all requests under way together: 256 of the largest. */
const inFlightBytes = 64 * 1024 * 1024;
const alertQuietMs = 3_600_000;

/** The public listener with everything between it and the inbox. */
export function createReceiver(parts: ReceiverParts): HttpServer {
  const { config, logger, clock, metrics, inbox, installs, alerts, readiness, onUnmatched } = parts;
  const { host, port, maxConnections } = config.receiver;
  const quiet = createQuiet(clock);
  const alertQuiet = createQuiet(clock, alertQuietMs);
  const listener = createReceiverApp({
    inbox,
    metrics,
    logger,
    clock,
    quiet,
    readiness,
    databaseClock: parts.databaseClock,
    onStored: parts.onStored,
    secretsOf: (install) => installs.get(install)?.webhookSecrets,
    loadInstalls: parts.loadInstalls,
    decoySecret: randomBytes(32).toString('hex'),
    headers: createMarketplaceHeaders(config.marketplace.headerPrefixes),
    budget: createByteBudget(inFlightBytes),
    admission: createAdmission(createRateLimit(config.receiver.limits, clock), parts.storageGate),
    recentIds: createRecentIds(),
    refusals: createRefusalLog({ metrics, logger, quiet, onUnmatched }),
    deferrals: createDeferralLog({ metrics, logger, alerts, quiet, alertQuiet }),
  });
  return createHttpServer({ host, port, section: 'receiver', listener, maxConnections });
}

/** Keeps the disk for all installs. */
export function createStorageGateOf({
  config,
  storage,
  clock,
  installs,
}: Pick<ReceiverParts, 'config' | 'storage' | 'clock' | 'installs'>): StorageGate {
  const file = sqliteFileOf(storage.database.url);
  return createStorageGate({
    limits: config.receiver.limits,
    clock,
    readStored: () => readStored(storage.database.kysely),
    readFree: async () => (file === undefined ? null : await readFreeBytes(path.dirname(file))),
    countInstalls: () => installs.size,
  });
}

/** How many bytes are free on the disk of a folder; null if the system does not say. */
async function readFreeBytes(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
