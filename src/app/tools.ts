import type { Adapter } from '../adapters/adapter.ts';
import type { Config } from '../config/config-schema.ts';
import { createClaimStore } from '../converge/claim-store.ts';
import { usualSecondLookMs } from '../converge/converge-steps.ts';
import { createConvergeWorker } from '../converge/converge-worker.ts';
import { createResetStore } from '../converge/reset-store.ts';
import { createResetWorker } from '../converge/reset-worker.ts';
import { createSettleStore, type SettleStore } from '../converge/settle-store.ts';
import { createToolTroubleStore } from '../converge/tool-trouble-store.ts';
import type { DatabaseClock } from '../db/database-clock.ts';
import { createLockStore } from '../db/lock-store.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Logger } from '../lib/logger.ts';
import type { Loop, Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { RouteLink } from '../memberships/link-router.ts';
import { type Silence, withSilenceCheck } from '../reconcile/runs/silence.ts';
import { bindTool, locationOf } from '../tools/bind-tool.ts';
import { hostOf, traceTool } from '../tools/trace-tool.ts';
import type { Storage } from './storage.ts';

export interface ToolsDeps extends Polling {
  config: Config;
  storage: Storage;
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
  { config, storage: { database }, clock, isDry, ...given }: ToolsDeps,
  alerts: Alerts,
): Map<string, Adapter> {
  const deps = { database, alerts, clock, isDry, configured: new Set(config.tools.keys()) };
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
export function createConvergeWorkers(
  deps: ToolsDeps,
  { alerts, routeLink, silence, mayChange, isShared }: ConvergeRules,
): Loop[] {
  const { config, storage, logger, clock, metrics, adapters, pollMs } = deps;
  const { secondLookMs = usualSecondLookMs } = deps;
  const { database, box } = storage;
  const resets = createResetStore(database, box);
  const troubles = createToolTroubleStore(database);
  const shared = { logger, clock, pollMs, metrics, alerts, locks: createLockStore(database), troubles };
  const claims = withSilenceCheck(silence, createClaimStore(database, box));
  const settling = createSettleStore(database, box, routeLink);
  return [...config.tools].flatMap(([tool, { concurrency, timeoutMs, ...settings }]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined) return [];
    const given = { ...shared, tool, adapter, claims, concurrency, timeoutMs, isShared: () => isShared(tool) };
    const known = {
      protectedAccounts: settings.protected,
      managedDomains: config.marketplace.managedDomains,
      mayChangeAccounts: () => mayChange(tool),
      secondLookMs,
    };
    if (adapter.resetInvitations === undefined) {
      return [createConvergeWorker({ ...given, ...known, settling })];
    }
    const onMembershipDue = () => worker.wake();
    const resetter = createResetWorker({ ...given, resets, onMembershipDue });
    const onResetWanted = () => resetter.wake();
    const worker = createConvergeWorker({ ...given, ...known, settling: wakingResetter(settling, onResetWanted) });
    return [worker, resetter];
  });
}

/** Wakes the resetter after a removal is settled, because the reset may follow at once. */
function wakingResetter(settling: SettleStore, onResetWanted: () => void): SettleStore {
  return {
    ...settling,
    async settle(claim, result, now) {
      const isHeld = await settling.settle(claim, result, now);
      if (result.wantsReset) onResetWanted();
      return isHeld;
    },
  };
}
