import type { Adapter, Member } from '../../src/adapters/adapter.ts';
import { createServices } from '../../src/app/services.ts';
import { openStorage } from '../../src/app/storage.ts';
import { Config } from '../../src/config/config-schema.ts';
import { createDatabaseClock } from '../../src/db/database-clock.ts';
import { createInstallRegistry } from '../../src/installs/install-registry.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createMetrics } from '../../src/lib/metrics.ts';
import { keepHeapSmall } from '../../src/lib/small-heap.ts';
import { createPlatformSource } from '../../src/marketplace/platform/create-platform-source.ts';
import { reconcileNow } from '../../src/operations/reconcile-now.ts';

/** One `gangway reconcile` in a process of its own, so that its memory is its own. */

export interface ReconcileOrder {
  databaseUrl: string;
  secretKey: string;
  baseUrl: string;
  token: string;
}

export interface Reconciled {
  outcome: string;
  added: number;
  readMs: number;
  totalMs: number;
  adapterCalls: number;
  cpuMs: number;
  peakMiB: number;
}

process.once('message', (order: ReconcileOrder) => {
  void reconcile(order).then((reconciled) => {
    process.send?.(reconciled satisfies Reconciled, () => process.disconnect());
  });
});

async function reconcile(order: ReconcileOrder): Promise<Reconciled> {
  // As the command does.
  keepHeapSmall();
  const { baseUrl, token } = order;
  const storage = await openStorage(order.databaseUrl, Buffer.from(order.secretKey, 'hex'));
  const clock = createDatabaseClock(storage.database, systemClock);
  await clock.correct();
  const logger = createLogger({ level: 'error', destination: process.stderr });
  const config = Config.parse({
    marketplace: { baseUrl },
    installs: { acme: { token, webhookSecrets: ['whsec_bench'], tool: 'studio' } },
    tools: { studio: { adapter: 'instant' } },
  });
  const tool = createInstantTool();
  const adapters = new Map([['studio', tool.adapter]]);
  const registry = createInstallRegistry(storage, config);
  await registry.load();
  const parts = { config, storage, logger, clock, adapters, registry, metrics: createMetrics() };
  const services = createServices(parts);
  const begunAt = performance.now();
  let readMs = 0;
  const pacing = { requestsPerSecond: 1_000_000, burst: 1_000_000 };
  const api = createPlatformSource({ baseUrl, token, pacing });
  const ctx = { ...services, sources: new Map([['acme', api]]) };
  const patience = {
    loops: services.loops,
    waitMs: 12 * 3_600_000,
    signal: new AbortController().signal,
    onProgress(says: string) {
      if (says === '1 of 1 installs read') readMs = performance.now() - begunAt;
    },
  };
  const [reconciled] = await reconcileNow({ ...ctx, clock }, ['acme'], patience);
  const totalMs = performance.now() - begunAt;
  await storage.database.close();
  if (reconciled === undefined) throw new Error('nothing was reconciled');
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  return {
    outcome: reconciled.outcome,
    added: reconciled.added,
    readMs,
    totalMs,
    adapterCalls: tool.countCalls(),
    cpuMs: (userCPUTime + systemCPUTime) / 1000,
    peakMiB: maxRSS / 1024,
  };
}

interface InstantTool {
  adapter: Adapter;
  countCalls(): number;
}

/** Remembers a bit for everyone who is in it, so that what is measured is not its own memory. */
function createInstantTool(): InstantTool {
  const present = new Uint8Array(1_000_000);
  let calls = 0;
  const numberOf = (trainerId: string) => Number(trainerId.slice('usr_'.length));
  const adapter: Adapter = {
    capabilities: { removal: { effect: 'locks_out' }, readding: 'yes', exclusive: 'membership' },
    check: async () => [],
    groupFor: (link) => link.externalProjectId,
    async findMember(_group, { trainerId, email }): Promise<Member | null> {
      calls += 1;
      return present[numberOf(trainerId)] === 1 ? { id: trainerId, email } : null;
    },
    async addMember(_group, { trainerId, email }): Promise<Member> {
      calls += 1;
      present[numberOf(trainerId)] = 1;
      return { id: trainerId, email };
    },
    async removeMember(_group, { id }): Promise<void> {
      calls += 1;
      present[numberOf(id)] = 0;
    },
  };
  return { adapter, countCalls: () => calls };
}
