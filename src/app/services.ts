import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import type { Context, WokenLoop } from '../context.ts';
import { createConvergeWorker } from '../converge/converge-worker.ts';
import { createResetWorker } from '../converge/reset-worker.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import type { InstallRegistry } from '../installs/install-registry.ts';
import type { JobKind } from '../jobs/job.ts';
import { createJobWorker, type JobWorker } from '../jobs/job-worker.ts';
import { createAlerts } from '../lib/alerts.ts';
import type { Logger } from '../lib/logger.ts';
import { createWakes, type Loop, type Polling, type Wakes } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createLinkRouter } from '../memberships/wall.ts';
import { createAlertNotices } from '../notify/alert-notices.ts';
import { type Channel, createChannels } from '../notify/channels.ts';
import { activeListJob } from '../reconcile/runs/active-list-job.ts';
import { wantLists } from '../reconcile/runs/active-list-store.ts';
import { checkSilence } from '../reconcile/runs/silence.ts';
import { createRemovalWorker } from '../removals/removal-worker.ts';
import { bindTool } from '../tools/bind-tool.ts';
import { workJobs, workSweepJob } from '../usage/read/read-scope.ts';
import { scopeOfLink, wantScopes } from '../usage/read/scope-store.ts';
import type { OpenStorage } from './storage.ts';

export interface ServicesDeps extends Polling {
  config: Config;
  storage: OpenStorage;
  logger: Logger;
  clock: DatabaseClock;
  metrics: Metrics;
  adapters: ReadonlyMap<string, Adapter>;
  /** The caller loads it before it uses any service. */
  registry: InstallRegistry;
  /** Further kinds of jobs. */
  jobs?: readonly JobKind[];
  /** A dry run writes nothing. */
  isDry?: boolean;
  /** How long the look that confirms a removal waits after the first one. */
  secondLookMs?: number;
}

/** Everything between the marketplace and the tools but the receiver. The command line uses it too. */
export interface Services extends Context {
  clock: DatabaseClock;
  wakes: Wakes<WokenLoop>;
  /** Where notifications are sent. */
  channels: readonly Channel[];
  /** Resolves when every alert so far is stored. A process must not end before. */
  alertsStored(): Promise<void>;
  /** Removals, convergence, and jobs: at least the readings that removals wait for. */
  loops: readonly Loop[];
  hurry: JobWorker['hurry'];
}

export function createServices(given: ServicesDeps): Services {
  const { config, storage, logger, clock, metrics, registry } = given;
  const { installs, sources } = registry;
  const { settled, ...listener } = createAlertNotices(() => ctx);
  const alerts = createAlerts(logger, metrics, given.isDry ? undefined : listener);
  const adapters = new Map(given.adapters);
  const wakes = createWakes<WokenLoop>();
  const ctx: Context = {
    ...storage,
    pollMs: given.pollMs,
    config,
    clock,
    logger,
    metrics,
    alerts,
    installs,
    sources,
    adapters,
    routeLink: createLinkRouter(installs, adapters),
    wake: wakes.wake,
  };
  // Each adapter answers only while its tool is the server that has the members.
  for (const [tool, adapter] of given.adapters) {
    adapters.set(tool, bindTool(ctx, tool, adapter, given.isDry));
  }
  const converging = { beforeClaiming: () => checkSilence(ctx), secondLookMs: given.secondLookMs };
  const tools = [...adapters.keys()].filter((tool) => config.tools.has(tool));
  const convergeWorkers = tools.map((tool) => createConvergeWorker(ctx, tool, converging));
  const resetting = tools.filter((tool) => adapters.get(tool)?.resetInvitations !== undefined);
  const resetWorkers = resetting.map((tool) => createResetWorker(ctx, tool));
  const removalWorker = createRemovalWorker(ctx, {
    beforeDeciding: () => checkSilence(ctx),
    wantLists,
    wantScopes,
    scopeOf: (link) => scopeOfLink(ctx, link),
  });
  const jobWorker = createJobWorker(ctx, [activeListJob, ...workJobs(ctx), workSweepJob, ...(given.jobs ?? [])]);
  wakes.add('memberships', ...convergeWorkers);
  wakes.add('resets', ...resetWorkers);
  wakes.add('removals', removalWorker);
  wakes.add('jobs', jobWorker);
  return {
    ...ctx,
    wakes,
    clock,
    channels: createChannels(config, clock),
    alertsStored: settled,
    loops: [removalWorker, ...convergeWorkers, ...resetWorkers, jobWorker],
    hurry: jobWorker.hurry,
  };
}
