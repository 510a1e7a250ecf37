import type { Adapter } from './adapters/adapter.ts';
import type { Config } from './config/config-schema.ts';
import { createClockWorker, type DatabaseClock } from './db/database-clock.ts';
import { createLockStore } from './db/lock-store.ts';
import { createVacuumWorker } from './db/vacuum-worker.ts';
import type { BrakeLimits } from './domain/brake.ts';
import { type BrakeStore, createBrakeStore } from './engine/brake-store.ts';
import { checkOrphans } from './engine/check-orphans.ts';
import { createClaimStore } from './engine/claim-store.ts';
import { createConvergeWorker } from './engine/converge-worker.ts';
import { createEvidenceStore, type EvidenceStore } from './engine/evidence-store.ts';
import type { OrphanDeps } from './engine/find-orphans.ts';
import { createIntakeWorker } from './engine/intake-worker.ts';
import { createLinkRouter } from './engine/link-router.ts';
import { createOrphanStore } from './engine/orphan-store.ts';
import { createReadRequestStore, type ReadRequestStore } from './engine/read-request-store.ts';
import { createRemovalWorker } from './engine/removal-worker.ts';
import { createReportEvidence } from './engine/report-evidence.ts';
import { createSettleStore } from './engine/settle-store.ts';
import { createPurgeWorker } from './inbox/purge-worker.ts';
import { type Alerts, createAlerts } from './lib/alerts.ts';
import type { Logger } from './lib/logger.ts';
import type { Loop } from './lib/loop.ts';
import type { Metrics } from './lib/metrics.ts';
import { createPlatformApi } from './marketplace/platform-api.ts';
import type { Storage } from './open-storage.ts';
import { createRetentionStore } from './privacy/retention-store.ts';
import { createRetentionWorker } from './privacy/retention-worker.ts';
import { createSweep } from './privacy/sweep.ts';
import { type CheckDrift, createCheckDrift } from './reconcile/check-drift.ts';
import { createDriftStore } from './reconcile/drift-store.ts';
import { createInstallStateStore } from './reconcile/install-state-store.ts';
import { createReadWorker } from './reconcile/read-worker.ts';
import type { ReconcileDeps } from './reconcile/reconcile-install.ts';
import { createReconcileWorker } from './reconcile/reconcile-worker.ts';
import { createReportDrift } from './reconcile/report-drift.ts';
import { createRunStore } from './reconcile/run-store.ts';
import { createScheduleWorker } from './reconcile/schedule-worker.ts';
import { createAliveWorker, holdAfterSilence } from './reconcile/silence.ts';

export interface WorksDeps {
  config: Config;
  storage: Storage;
  logger: Logger;
  clock: DatabaseClock;
  metrics: Metrics;
  adapters: ReadonlyMap<string, Adapter>;
}

export interface EngineDeps extends WorksDeps {
  /** Whether deliveries are being stored right now. */
  isBusy(): boolean;
}

/** What leads from a marketplace to the tools without a receiver: the command line has it too. */
export interface Works extends ReconcileDeps, OrphanDeps {
  readRequests: ReadRequestStore;
  metrics: Metrics;
  brakes: BrakeStore;
  limits: BrakeLimits;
  canReturn(tool: string): boolean;
  /** Called when there is something for the brake to look at. */
  onRemovalDue(): void;
  /** The brake, and what brings each tool in line. */
  loops: readonly Loop[];
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
  const { config, storage, logger, clock } = deps;
  const works = createWorks(deps);
  const { evidence, installStates } = works;
  const readWorker = createReadWorker(works);
  const reconcileWorker = createReconcileWorker(works);
  const onReadWanted = () => {
    readWorker.wake();
    reconcileWorker.wake();
  };
  const intakeWorker = createIntakeWorker({
    ...{ ...works, inbox: storage.inbox, onReadWanted },
    staleAfterMs: config.retention.deliveriesMs,
    wantInstallRead: installStates.wantRead,
    isReceiverBusy: deps.isBusy,
  });
  const scheduleWorker = createScheduleWorker({
    ...{ database: storage.database, installStates, logger, clock, onReadWanted },
    ...{ schedule: config.reconcile.schedule, installs: [...config.installs.keys()] },
  });
  const acting = [intakeWorker, readWorker, reconcileWorker, scheduleWorker, ...works.loops];
  return {
    loops: [...acting, ...createHousekeeping(deps, evidence)],
    prepare: (options: StartOptions) => prepare(deps, works, options),
    wakeIntake: () => intakeWorker.wake(),
  };
}

export function createWorks(deps: WorksDeps): Works {
  const { config, storage, logger, clock, metrics, adapters } = deps;
  const { database, box, memberships } = storage;
  const alerts = createAlerts(logger, metrics);
  const convergeWorkers = createConvergeWorkers(deps, alerts);
  const works = {
    ...{ database, logger, clock, metrics, alerts, memberships },
    managedDomains: config.marketplace.managedDomains,
    rules: { routeLink: createLinkRouter(config.installs, adapters), graces: config.removals },
    evidence: createEvidenceStore(database, box),
    readRequests: createReadRequestStore(database),
    installStates: createInstallStateStore(database),
    runs: createRunStore(database),
    orphans: createOrphanStore(database),
    brakes: createBrakeStore(database),
    limits: config.removals,
    report: createReportEvidence(config.installs, alerts),
    platformApis: createPlatformApis(config),
    canReturn: (tool: string) => adapters.get(tool)?.capabilities.readding !== 'no',
    onMembershipDue() {
      for (const worker of convergeWorkers) worker.wake();
    },
  };
  const checkDrift = createDrift(deps, works);
  const removalWorker = createRemovalWorker(works);
  const loops = [removalWorker, ...convergeWorkers];
  return { ...works, checkDrift, loops, onRemovalDue: () => removalWorker.wake() };
}

/** What the tools list, compared with what is known. */
function createDrift(
  { config, storage: { box }, adapters }: WorksDeps,
  works: Omit<Works, 'checkDrift' | 'loops' | 'onRemovalDue'>,
): CheckDrift {
  const { routeLink, graces } = works.rules;
  return createCheckDrift({
    ...{ ...works, adapters, box, routeLink, graceMs: graces.graceMs },
    drifts: createDriftStore(works.database),
    protectedAccounts: new Map([...config.tools].map(([name, tool]) => [name, tool.protected])),
    report: createReportDrift(works),
  });
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
  { config, logger }: EngineDeps,
  works: Works,
  { acceptsOrphans, isRestored }: StartOptions,
): Promise<void> {
  const { database, installStates, clock } = works;
  const orphaned = await checkOrphans(works, acceptsOrphans);
  if (orphaned !== null)
    logger.warn({ orphaned }, 'Kept although the configuration leads elsewhere');
  const installs = [...config.installs.keys()];
  if (await holdAfterSilence(database, installStates, installs, clock, isRestored))
    logger.warn('After a silence, every install is read before anything older is acted on');
}

function createConvergeWorkers(
  { config, storage, logger, clock, metrics, adapters }: WorksDeps,
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
