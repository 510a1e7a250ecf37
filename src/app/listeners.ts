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
import type { Readiness } from '../lib/readiness.ts';
import { createReceiverApp } from '../receiver/receiver-app.ts';
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

/** The public listener with everything between it and the inbox. */
export function createReceiver({ config, installs, ...parts }: ReceiverParts): HttpServer {
  const { host, port, maxConnections, limits } = config.receiver;
  const { headerPrefixes } = config.marketplace;
  const secretsOf = (install: string) => installs.get(install)?.webhookSecrets;
  const listener = createReceiverApp({ ...parts, secretsOf, headerPrefixes, limits });
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
