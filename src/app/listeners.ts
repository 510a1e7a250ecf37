import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Config } from '../config/config-schema.ts';
import type { Database } from '../db/database.ts';
import { sqliteFileOf } from '../db/sqlite-database.ts';
import { createStorageGate, type StorageGate } from '../http/receiver/limits.ts';
import { createReceiverApp } from '../http/receiver/receiver-app.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { readStored } from '../inbox/storage-store.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { Clock } from '../lib/clock.ts';
import { createHttpServer, type HttpServer } from '../lib/http-server.ts';
import type { Readiness } from '../lib/readiness.ts';
import type { Loops } from './loops.ts';

interface ReceiverParts {
  /** The clock of this machine, by which signatures are judged. */
  clock: Clock;
  inbox: Inbox;
  readiness: Readiness;
  storageGate: StorageGate;
  loops: Loops;
}

/** The public listener with everything between it and the inbox. */
export function createReceiver({ loops, ...parts }: ReceiverParts): HttpServer {
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
export function createStorageGateOf(
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
