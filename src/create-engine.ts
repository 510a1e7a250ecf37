import type { Adapter } from './adapters/adapter.ts';
import type { Config } from './config/config-schema.ts';
import { createClockWorker, type DatabaseClock } from './db/database-clock.ts';
import { createLockStore } from './db/lock-store.ts';
import { createVacuumWorker } from './db/vacuum-worker.ts';
import { createBrakeStore } from './engine/brake-store.ts';
import { checkOrphans } from './engine/check-orphans.ts';
import { createClaimStore } from './engine/claim-store.ts';
import { createConvergeWorker } from './engine/converge-worker.ts';
import type { DeriveDeps } from './engine/derive-memberships.ts';
import { createEvidenceStore, type EvidenceStore } from './engine/evidence-store.ts';
import { createIntakeWorker } from './engine/intake-worker.ts';
import { createLinkRouter } from './engine/link-router.ts';
import { createOrphanStore } from './engine/orphan-store.ts';
import { createReadRequestStore } from './engine/read-request-store.ts';
import { createRemovalWorker } from './engine/removal-worker.ts';
import { createReportEvidence } from './engine/report-evidence.ts';
import { createSettleStore } from './engine/settle-store.ts';
import { createPurgeWorker } from './inbox/purge-worker.ts';
import { type Alerts, createAlerts } from './lib/alerts.ts';
import { toInstant } from './lib/clock.ts';
import type { Logger } from './lib/logger.ts';
import type { Loop } from './lib/loop.ts';
import type { Metrics } from './lib/metrics.ts';
import { createPlatformApi } from './marketplace/platform-api.ts';
import type { Storage } from './open-storage.ts';
import { createRetentionStore } from './privacy/retention-store.ts';
import { createRetentionWorker } from './privacy/retention-worker.ts';
import { createSweep } from './privacy/sweep.ts';
import {
  createInstallStateStore,
  type InstallStateStore,
} from './reconcile/install-state-store.ts';
import { createReadWorker } from './reconcile/read-worker.ts';
import { createReconcileWorker } from './reconcile/reconcile-worker.ts';
import { createAliveWorker, wasSilent } from './reconcile/silence.ts';

export interface EngineDeps {
  config: Config;
  storage: Storage;
  logger: Logger;
  clock: DatabaseClock;
  metrics: Metrics;
  adapters: ReadonlyMap<string, Adapter>;
  /** Whether deliveries are being stored right now. */
  isBusy(): boolean;
}

/** Everything that acts by itself: the loops between the inbox and the tools. */
export interface Engine {
  loops: readonly Loop[];
  /**
   * Before anything is acted on: whether what lies in the database may be.
   *
   * @throws AppError `conflict` where the configuration no longer leads to people in a tool
   */
  prepare(options: StartOptions): Promise<void>;
  /** Deliveries were stored. */
  wakeIntake(): void;
}

export interface StartOptions {
  /** Whether to start although the configuration no longer leads to people who are in a tool. */
  acceptsOrphans: boolean;
  /** Whether the database comes from a backup: then the marketplace is asked before anything. */
  isRestored: boolean;
}

export function createEngine(deps: EngineDeps): Engine {
  const { config, storage, logger, clock, metrics, adapters } = deps;
  const { database, box, inbox, memberships } = storage;
  const { managedDomains } = config.marketplace;
  const alerts = createAlerts(logger, metrics);
  const shared = { database, logger, clock, metrics, alerts };
  const readRequests = createReadRequestStore(database);
  const installStates = createInstallStateStore(database);
  const evidence = createEvidenceStore(database, box);

  const convergeWorkers = createConvergeWorkers(deps, alerts);
  const onMembershipDue = () => {
    for (const worker of convergeWorkers) worker.wake();
  };
  const removalWorker = createRemovalWorker({
    ...{ ...shared, evidence, brakes: createBrakeStore(database), limits: config.removals },
    canReturn: (tool) => adapters.get(tool)?.capabilities.readding !== 'no',
    onMembershipDue,
  });
  const deriveDeps = {
    ...{ memberships, managedDomains },
    rules: { routeLink: createLinkRouter(config.installs, adapters), graces: config.removals },
  };
  const evidenceDeps = {
    ...{ ...deriveDeps, evidence, readRequests, installStates, onMembershipDue },
    onRemovalDue: () => removalWorker.wake(),
    report: createReportEvidence(config.installs, alerts),
    platformApis: createPlatformApis(config),
  };
  const readWorker = createReadWorker({ ...shared, ...evidenceDeps });
  const reconcileWorker = createReconcileWorker({ ...shared, ...evidenceDeps });
  const intakeWorker = createIntakeWorker({
    ...{ ...shared, ...evidenceDeps, inbox },
    staleAfterMs: config.retention.deliveriesMs,
    wantInstallRead: installStates.wantRead,
    isReceiverBusy: deps.isBusy,
    onReadWanted() {
      readWorker.wake();
      reconcileWorker.wake();
    },
  });
  const acting = [intakeWorker, readWorker, reconcileWorker, removalWorker, ...convergeWorkers];
  return {
    loops: [...acting, ...createHousekeeping(deps, evidence)],
    prepare: (options: StartOptions) => prepare(deps, { ...deriveDeps, installStates }, options),
    wakeIntake: () => intakeWorker.wake(),
  };
}

/** What keeps the database small, its clock right, and its people no longer than they may be. */
function createHousekeeping(
  { config, storage, logger, clock }: EngineDeps,
  evidence: EvidenceStore,
): Loop[] {
  const { database, inbox } = storage;
  const { deliveriesMs, peopleMs } = config.retention;
  const sweep = createSweep({
    ...{ database, clock, retention: createRetentionStore(database) },
    lockEvidence: evidence.lock,
    retentionMs: peopleMs,
  });
  return [
    createPurgeWorker({ inbox, logger, clock, retentionMs: deliveriesMs }),
    createRetentionWorker({ sweep, logger, clock }),
    createVacuumWorker(database, logger, clock),
    createClockWorker(clock, logger),
    createAliveWorker(database, clock, logger),
  ];
}

async function prepare(
  { config, storage: { database }, logger, clock }: EngineDeps,
  { installStates, ...deriveDeps }: DeriveDeps & { installStates: InstallStateStore },
  { acceptsOrphans, isRestored }: StartOptions,
): Promise<void> {
  const orphans = createOrphanStore(database);
  await checkOrphans({ ...deriveDeps, database, orphans }, acceptsOrphans);
  if (!isRestored && !(await wasSilent(database, clock))) return;
  await installStates.hold([...config.installs.keys()], toInstant(clock.now()));
  logger.warn('After a silence, every install is read before anything older is acted on');
}

function createConvergeWorkers(
  { config, storage, logger, clock, metrics, adapters }: EngineDeps,
  alerts: Alerts,
): Loop[] {
  const { database, box } = storage;
  const shared = { logger, clock, metrics, alerts, locks: createLockStore(database) };
  const claims = createClaimStore(database, box);
  const settling = createSettleStore(database);
  return [...config.tools].flatMap(([tool, { concurrency, timeoutMs, ...settings }]) => {
    const adapter = adapters.get(tool);
    if (adapter === undefined) return [];
    const worker = createConvergeWorker({
      ...{ ...shared, tool, adapter, claims, settling, concurrency, timeoutMs },
      protectedAccounts: settings.protected,
      managedDomains: config.marketplace.managedDomains,
    });
    return [worker];
  });
}

function createPlatformApis({ installs, marketplace: { baseUrl } }: Config) {
  return new Map(
    [...installs].map(([install, { token }]) => [install, createPlatformApi({ baseUrl, token })]),
  );
}
