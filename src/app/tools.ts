import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import { usualSecondLookMs } from '../converge/converge-steps.ts';
import { createConvergeWorker } from '../converge/converge-worker.ts';
import { createResetWorker } from '../converge/reset-worker.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import type { RouteLink } from '../domain/route.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Logger } from '../lib/logger.ts';
import type { Loop, Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Silence } from '../reconcile/runs/silence.ts';
import { bindTool, locationOf } from '../tools/bind-tool.ts';
import { hostOf, traceTool } from '../tools/trace-tool.ts';
import type { OpenStorage } from './storage.ts';

export interface ToolsDeps extends Polling {
  config: Config;
  storage: OpenStorage;
  logger: Logger;
  clock: DatabaseClock;
  metrics: Metrics;
  adapters: ReadonlyMap<string, Adapter>;
  /** A dry run writes nothing. */
  isDry?: boolean;
  /** How long the look that confirms a removal waits after the first one. */
  secondLookMs?: number;
}

/** Each adapter answers only while the tool is the server that its members are in. */
export function bindTools(
  { config, storage, clock, isDry, ...given }: ToolsDeps,
  alerts: Alerts,
): Map<string, Adapter> {
  const deps = { ...storage, alerts, clock, isDry, configured: new Set(config.tools.keys()) };
  const addressOf = (tool: string) => locationOf(config.tools.get(tool)?.settings ?? {});
  const traced = ([tool, adapter]: [string, Adapter]): [string, Adapter] => {
    const server = hostOf(config.tools.get(tool)?.settings ?? {});
    return [tool, bindTool(deps, tool, traceTool(tool, adapter, server), addressOf(tool))];
  };
  return new Map([...given.adapters].map(traced));
}

interface ConvergeRules {
  alerts: Alerts;
  routeLink: RouteLink;
  silence: Silence;
  /** Whether Gangway may end, rename or activate accounts of a tool. */
  mayChange(tool: string): boolean;
  /** Whether several installs are connected to a tool. */
  isShared(tool: string): boolean;
}

/** For each tool the worker that converges its memberships, and the one that resets its invitations. */
export function createConvergeWorkers(deps: ToolsDeps, rules: ConvergeRules): Loop[] {
  const { config, storage, adapters, secondLookMs = usualSecondLookMs } = deps;
  const { silence, mayChange, isShared } = rules;
  return [...config.tools].flatMap(([tool, { concurrency, timeoutMs, ...settings }]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined) return [];
    const given = { ...deps, ...storage, ...rules, tool, adapter, timeoutMs };
    const resetter = adapter.resetInvitations && createResetWorker({ ...given, onMembershipDue: () => worker.wake() });
    const worker = createConvergeWorker({
      ...given,
      concurrency,
      secondLookMs,
      protectedAccounts: settings.protected,
      managedDomains: config.marketplace.managedDomains,
      isShared: () => isShared(tool),
      mayChangeAccounts: () => mayChange(tool),
      beforeClaiming: () => silence.check(),
      // The reset may follow the removal at once.
      onResetWanted: () => resetter?.wake(),
    });
    return resetter === undefined ? [worker] : [worker, resetter];
  });
}
