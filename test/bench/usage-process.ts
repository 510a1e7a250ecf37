import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Adapter } from '../../src/adapters/adapter.ts';
import { openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import type { Context } from '../../src/context.ts';
import type { Database } from '../../src/db/database.ts';
import type { Install } from '../../src/domain/install.ts';
import { createSecretBox } from '../../src/keys/secret-box.ts';
import { createAlerts } from '../../src/lib/alerts.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { keepHeapSmall } from '../../src/lib/small-heap.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { createLinkRouter } from '../../src/memberships/wall.ts';
import { reportUsage } from '../../src/usage/report/report-usage.ts';

/** One report in a process of its own, so that its memory is its own. */

export interface ReportOrder {
  databaseUrl: string;
  secretKey: string;
  baseUrl: string;
  token: string;
}

export interface Reported {
  sent: number;
  requests: number;
  failure: string | null;
  wallMs: number;
  cpuMs: number;
  peakMiB: number;
  longestBlockMs: number;
}

process.once('message', (order: ReportOrder) => {
  void report(order).then((reported) => {
    process.send?.(reported satisfies Reported, () => process.disconnect());
  });
});

async function report({ databaseUrl, secretKey, ...market }: ReportOrder): Promise<Reported> {
  // As the command does.
  keepHeapSmall();
  const { database } = await openStorage(databaseUrl, Buffer.from(secretKey, 'hex'));
  const ctx = createBenchContext(database, market);
  const resolution = 5;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  const before = process.cpuUsage();
  const begunAt = performance.now();
  const [one] = await reportUsage(ctx, async () => undefined, { installs: ['acme'] }, new AbortController().signal);
  const wallMs = performance.now() - begunAt;
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  await database.close();
  if (one === undefined) throw new Error('nothing was reported');
  return {
    sent: one.sent,
    requests: one.requests,
    failure: one.failure,
    wallMs,
    cpuMs: (user + system) / 1000,
    peakMiB: process.resourceUsage().maxRSS / 1024,
    longestBlockMs: Math.max(0, delay.max / 1e6 - resolution),
  };
}

/** A tool whose work was read already, and lies in the database. */
const adapter: Adapter = {
  capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
  check: async () => [],
  groupFor: ({ externalProjectId }) => externalProjectId,
  findMember: async () => null,
  addMember: async () => ({ id: '', email: null }),
  removeMember: async () => undefined,
  usageScopeFor: ({ externalProjectId }) => externalProjectId,
  async *readUsage() {
    // Nothing is read here.
  },
};

const acme: Install = {
  source: 'platform',
  token: '',
  jobs: new Map(),
  webhookSecrets: [],
  tool: 'studio',
  projects: ['*'],
  guidelines: false,
  livesIn: 'configuration',
};

function createBenchContext(database: Database, market: { baseUrl: string; token: string }): Context {
  const installs = new Map([['acme', acme]]);
  const adapters = new Map([['studio', adapter]]);
  const logger = createLogger({ level: 'error', destination: process.stderr });
  const metrics = createMetrics();
  const pacing = { requestsPerSecond: 100_000, burst: 100_000 };
  return {
    database,
    box: createSecretBox(randomBytes(32)),
    config: Config.parse({}),
    adapters,
    installs,
    logger,
    metrics,
    routeLink: createLinkRouter(installs, adapters),
    clock: systemClock,
    alerts: createAlerts(logger, metrics),
    sources: new Map([['acme', createPlatformSource({ ...market, pacing })]]),
    wake: () => undefined,
  };
}
