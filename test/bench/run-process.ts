import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createServices } from '../../src/app/services.ts';
import { openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { limitCache } from '../../src/db/database.ts';
import { createDatabaseClock } from '../../src/db/database-clock.ts';
import { createInstallRegistry } from '../../src/installs/install-registry.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { keepMemorySmall } from '../../src/lib/small-heap.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { reconcileNow } from '../../src/operations/reconcile-now.ts';
import { reportUsage } from '../../src/usage/report/report-usage.ts';
import { createBenchTool } from './bench-tool.ts';

/** One `gangway reconcile` or `gangway usage report` in a process of its own, so that its memory is its own. */
export interface RunOrder {
  command: 'reconcile' | 'report';
  databaseUrl: string;
  secretKey: string;
  baseUrl: string;
  token: string;
}

export interface Run<Result> {
  result: Result;
  wallMs: number;
  /** Of the processor, by the command itself. */
  cpuMs: number;
  /** Of the processor, before the command began. */
  startCpuMs: number;
  peakMiB: number;
  longestBlockMs: number;
}

export interface Reconciled {
  added: number;
  /** Until everything was read. */
  readMs: number;
  toolCalls: number;
}

export interface Reported {
  sent: number;
  requests: number;
  failure: string | null;
}

/** How exactly the loop is watched. */
const resolution = 5;
const { signal } = new AbortController();

const [{ command, databaseUrl, secretKey, baseUrl, token }] = (await once(process, 'message')) as [RunOrder];
// As the command does.
keepMemorySmall();
const storage = await openStorage(databaseUrl, Buffer.from(secretKey, 'hex'));
await limitCache(storage.database);
const clock = createDatabaseClock(storage.database, systemClock);
await clock.correct();
const tool = createBenchTool();
const services = await openServices();
const run = { reconcile, report }[command];

const delay = monitorEventLoopDelay({ resolution });
delay.enable();
const [before, begunAt] = [process.cpuUsage(), performance.now()];
const result = await run();
const [wallMs, cpu] = [performance.now() - begunAt, process.cpuUsage(before)];
delay.disable();
await storage.database.close();
const measured: Run<Reconciled | Reported> = {
  result,
  wallMs,
  cpuMs: (cpu.user + cpu.system) / 1000,
  startCpuMs: (before.user + before.system) / 1000,
  peakMiB: process.resourceUsage().maxRSS / 1024,
  longestBlockMs: Math.max(0, delay.max / 1e6 - resolution),
};
process.send?.(measured, () => process.disconnect());

/** The install `acme`, whose requests are not paced, on a tool whose work was read already and is in the database. */
async function openServices() {
  const config = Config.parse({
    marketplace: { baseUrl },
    installs: { acme: { token, webhookSecrets: ['whsec_bench'], tool: 'studio' } },
    tools: { studio: { adapter: 'instant' } },
  });
  const logger = createLogger({ level: 'error', destination: process.stderr });
  const adapter = {
    ...tool.adapter,
    usageScopeFor: tool.adapter.groupFor,
    async *readUsage() {
      // Nothing is read here.
    },
  };
  const adapters = new Map([['studio', command === 'report' ? adapter : tool.adapter]]);
  const registry = createInstallRegistry(storage, config);
  await registry.load();
  const services = createServices({ config, storage, logger, clock, adapters, registry, metrics: createMetrics() });
  const pacing = { requestsPerSecond: 1_000_000, burst: 1_000_000 };
  return { ...services, sources: new Map([['acme', createPlatformSource({ baseUrl, token, pacing })]]) };
}

async function reconcile(): Promise<Reconciled> {
  let readMs = 0;
  const patience = {
    loops: services.loops,
    waitMs: 12 * 3_600_000,
    signal,
    onProgress(says: string) {
      if (says === '1 of 1 installs read') readMs = performance.now() - begunAt;
    },
  };
  const [one] = await reconcileNow(services, ['acme'], patience);
  if (one === undefined) throw new Error('nothing was reconciled');
  return { added: one.added, readMs, toolCalls: tool.measured().calls };
}

async function report(): Promise<Reported> {
  const [one] = await reportUsage(services, async () => undefined, { installs: ['acme'] }, signal);
  if (one === undefined) throw new Error('nothing was reported');
  return { sent: one.sent, requests: one.requests, failure: one.failure };
}
