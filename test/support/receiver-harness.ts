import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { Config } from '../../src/config/config-schema.ts';
import type { Storage } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import type { Appended, NewDelivery } from '../../src/domain/delivery.ts';
import { createStorageGate, type Rates, type StorageGate, type StorageLimits } from '../../src/http/receiver/limits.ts';
import { createReceiverApp } from '../../src/http/receiver/receiver-app.ts';
import { appendDeliveries } from '../../src/inbox/append-store.ts';
import { createInbox } from '../../src/inbox/inbox.ts';
import { openBody } from '../../src/inbox/inbox-store.ts';
import { readStored } from '../../src/inbox/storage-store.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { createHttpServer, type HttpServer } from '../../src/lib/http-server.ts';
import { createMetrics, type Metrics } from '../../src/lib/metrics.ts';
import { createReadiness } from '../../src/lib/readiness.ts';
import type { Alerting } from './alerting.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createLogLines, type LogLines } from './log-lines.ts';
import { sign } from './sign.ts';

export const acmeSecret = 'whsec_c2VjcmV0LW9mLWFjbWU';
export const retiredSecret = 'whsec_cmV0aXJlZC1vZi1hY21l';
export const otherSecret = 'whsec_c2VjcmV0LW9mLWdsb2JleA';

export interface TestReceiver {
  url: string;
  port: number;
  key: Buffer;
  clock: FakeClock;
  log: LogLines;
  metrics: Metrics;
  server: HttpServer;
  storage: Storage;
  /** Posts a signed delivery with these changes. */
  deliver(body: string | Uint8Array, changes?: Changes): Promise<Answer>;
  wouldDefer: StorageGate['wouldDefer'];
  /** A signature header that is right now. */
  signatureOf(body: string | Uint8Array, secret?: string): string;
  /** How many deliveries have come as far as the inbox. */
  handedOver(): number;
  /** What is stored, oldest first, bodies opened. */
  stored(): Promise<StoredDelivery[]>;
}

interface Changes {
  install?: string;
  secret?: string;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  body: unknown;
  headers: Record<string, string>;
}

interface StoredDelivery {
  install: string;
  state: string;
  deliveryId: string | null;
  headers: Record<string, string>;
  /** Empty where it was not kept. */
  body: Buffer;
}

interface ReceiverOptions {
  /** How deliveries are stored; by the store itself, unless a test gives another function. */
  append?: (storage: Storage, key: Buffer) => (deliveries: readonly NewDelivery[]) => Promise<Appended[]>;
  checkStorage?: () => Promise<void>;
  requestTimeoutMs?: number;
  maxConnections?: number;
  inFlightBytes?: number;
  /** What replaces the usual limits of one install. */
  limits?: Partial<Rates & StorageLimits>;
  /** What another process has stored meanwhile; unless given, nothing. */
  loadInstalls?: (secrets: Map<string, string[]>) => void;
  /** Has the alerts heard. */
  hears?: Alerting['hears'];
  /** What the disk has left. Without it, that is unknown. */
  freeBytes?: () => number | null;
}

/** The whole receiving half on a loopback port, over a database of the test's own. */
export async function openReceiver(database: Database, options: ReceiverOptions = {}): Promise<TestReceiver> {
  const { append, checkStorage = async () => undefined, requestTimeoutMs } = options;
  const { inFlightBytes, limits: changed, freeBytes = () => null } = options;
  const key = randomBytes(32);
  const storage = { database, box: createSecretBox(key) };
  const clock = createFakeClock();
  const log = createLogLines();
  const metrics = createMetrics();
  const { logger } = log;
  const inbox = createInbox({
    append: append?.(storage, key) ?? ((deliveries) => appendDeliveries(storage, deliveries)),
    onAppended: () => undefined,
  });
  const limits = { ...Config.parse({}).receiver.limits, ...changed };
  const gate = createStorageGate({
    limits,
    clock,
    readStored: () => readStored(storage.database.kysely),
    countInstalls: () => 2,
    readFree: async () => freeBytes(),
  });
  const secrets = new Map([
    ['acme', [acmeSecret, retiredSecret]],
    ['globex', [otherSecret]],
  ]);
  let handedOver = 0;
  const listener = createReceiverApp({
    inbox: {
      append(delivery) {
        handedOver += 1;
        return inbox.append(delivery);
      },
      isBusy: inbox.isBusy,
    },
    secretsOf: (install) => secrets.get(install),
    loadInstalls: async () => options.loadInstalls?.(secrets),
    headerPrefixes: ['X-OpenTrain-', 'X-Service-'],
    inFlightBytes,
    limits,
    storageGate: gate,
    alerts: createAlerts(logger, metrics, options.hears?.({ database, clock, logger })),
    onUnmatched: () => undefined,
    readiness: createReadiness(checkStorage, clock),
    metrics,
    logger,
    clock,
    databaseClock: clock,
  });
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    graceMs: 100,
    listener,
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...(options.maxConnections === undefined ? {} : { maxConnections: options.maxConnections }),
  });
  const url = await server.start();
  onTestFinished(() => server.stop());

  const signatureOf: TestReceiver['signatureOf'] = (body, secret = acmeSecret) => sign(body, secret, clock.seconds());

  return {
    url,
    port: Number(new URL(url).port),
    key,
    wouldDefer: gate.wouldDefer,
    clock,
    log,
    metrics,
    server,
    storage,
    signatureOf,
    deliver: (body, { install = 'acme', secret, headers = {} } = {}) =>
      post(`${url}/webhooks/${install}`, body, {
        'content-type': 'application/json',
        'x-opentrain-signature': signatureOf(body, secret),
        ...headers,
      }),
    handedOver: () => handedOver,
    async stored() {
      const rows = await database.kysely.selectFrom('delivery').selectAll().orderBy('id').execute();
      return rows.map((row) => ({
        install: row.install,
        state: row.state,
        deliveryId: row.deliveryId,
        headers: JSON.parse(row.headers) as Record<string, string>,
        body: row.body.length === 0 ? row.body : openBody(storage, row),
      }));
    },
  };
}

export async function post(url: string, body: string | Uint8Array, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers, body: Buffer.from(body) });
  return {
    status: response.status,
    body: await response.json(),
    headers: Object.fromEntries(response.headers),
  };
}
