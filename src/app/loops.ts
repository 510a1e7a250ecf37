import { createVacuumWorker } from '../db/vacuum-worker.ts';
import { createIntakeWorker } from '../evidence/intake-worker.ts';
import { createPurgeWorker } from '../inbox/purge-worker.ts';
import { createInstallsWorker } from '../installs/installs-worker.ts';
import { createSubscriptionWorker, type SubscriptionWorker } from '../installs/subscription/subscription-worker.ts';
import type { Alerts } from '../lib/alerts.ts';
import type { Loop } from '../lib/loop.ts';
import { createMailStore } from '../mail/mail-store.ts';
import { createMailWorker } from '../mail/mail-worker.ts';
import { createSendMail } from '../mail/send-mail.ts';
import { checkOrphans } from '../memberships/check-orphans.ts';
import { rerouteInstalls } from '../memberships/reroute-installs.ts';
import { createDispatchStore } from '../notify/dispatch-store.ts';
import { createNoticePurgeWorker } from '../notify/notice-purge-worker.ts';
import { createNotifyWorker } from '../notify/notify-worker.ts';
import { createRetentionStore } from '../privacy/retention-store.ts';
import { createRetentionWorker } from '../privacy/retention-worker.ts';
import { createSweep } from '../privacy/sweep.ts';
import { createClockWorker, mendAfterSetBack } from '../reconcile/read/clock-worker.ts';
import { createReadWorker } from '../reconcile/read/read-worker.ts';
import { createReconcileWorker } from '../reconcile/runs/reconcile-worker.ts';
import { createScheduleWorker } from '../reconcile/runs/schedule-worker.ts';
import { createAliveWorker } from '../reconcile/runs/silence.ts';
import { createClearImportsWorker } from '../usage/import/clear-imports-worker.ts';
import { createStagingStore } from '../usage/import/staging-store.ts';
import { createWorks, type Works, type WorksDeps } from './services.ts';

export interface EngineDeps extends WorksDeps {
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
  /** Every loop has ended then. */
  stop(): Promise<void>;
  alerts: Alerts;
  /** After its loops have stopped. */
  alertsTold(): Promise<void>;
  /** Deliveries were stored. */
  wakeIntake(): void;
  /** Something was written, by this process or by another: whatever it is, its loop looks. */
  wakeAll(): void;
  /** A request for an install was signed with none of its secrets. */
  noteUnmatched(install: string): void;
}

export interface StartOptions {
  /** Whether to start although the configuration no longer leads to people who are in a tool. */
  acceptsOrphans: boolean;
  /** Whether the database comes from a backup: then the marketplace is asked before anything. */
  isRestored: boolean;
}

export function createEngine(deps: EngineDeps): Engine {
  const { config, storage, logger, clock, pollMs } = deps;
  const works = createWorks(deps);
  const { installStates } = works;
  const readWorker = createReadWorker(works);
  const reconcileWorker = createReconcileWorker(works);
  const onReadWanted = () => {
    readWorker.wake();
    reconcileWorker.wake();
  };
  const intakeWorker = createIntakeWorker({
    ...works,
    inbox: storage.inbox,
    onReadWanted,
    staleAfterMs: config.retention.deliveriesMs,
    wantInstallRead: installStates.wantRead,
    isReceiverBusy: deps.isBusy,
  });
  const scheduleWorker = createScheduleWorker({
    database: storage.database,
    installStates,
    logger,
    clock,
    pollMs,
    onReadWanted,
    schedule: config.reconcile.schedule,
    installs: works.installs,
  });
  const installsWorker = createInstallsWorker({
    registry: deps.registry,
    logger,
    clock,
    pollMs,
    async onLoaded(changed) {
      if (await rerouteInstalls(works, changed)) intakeWorker.wake();
    },
  });
  const subscriptionWorker = createWatch(deps, works);
  const acting = [
    installsWorker,
    intakeWorker,
    readWorker,
    reconcileWorker,
    scheduleWorker,
    ...(subscriptionWorker === undefined ? [] : [subscriptionWorker]),
    ...works.loops,
    ...createMailWorkers(deps, works),
    ...works.usage.reporters,
    works.budgets.reader,
    ...createNotifyWorkers(works),
  ];
  const clockWorker = createClockWorker({ ...works, onReadWanted });
  const loops = [clockWorker, ...acting, ...createHousekeeping(deps, works)];
  return {
    loops,
    stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))),
    prepare: (options: StartOptions) => prepare(deps, works, options),
    alerts: works.alerts,
    alertsTold: works.alertsTold,
    wakeIntake: () => intakeWorker.wake(),
    wakeAll() {
      for (const loop of acting) loop.wake();
    },
    noteUnmatched: (install) => subscriptionWorker?.noteUnmatched(install),
  };
}

/** Without a public address nothing is delivered, and there is nothing to watch. */
function createWatch(
  { config, pollMs }: EngineDeps,
  { subscription, installs }: Works,
): SubscriptionWorker | undefined {
  if (config.receiver.publicUrl === undefined) return undefined;
  const { everyMs } = config.subscription;
  return createSubscriptionWorker({ ...subscription, installs, everyMs, pollMs });
}

/** None where no mail is configured: then invitations wait for an operator. */
function createMailWorkers({ config, storage }: EngineDeps, works: Works): Loop[] {
  const style = config.mail;
  if (style === undefined) return [];
  const mails = createMailStore(storage.database, storage.box);
  return [createMailWorker({ ...works, mails, send: createSendMail(style.smtp), style })];
}

/** One for each channel, so that none waits for another. */
function createNotifyWorkers(works: Works): Loop[] {
  const dispatches = createDispatchStore(works.database);
  return works.channels.map((channel) => createNotifyWorker({ ...works, channel, dispatches }));
}

/** What keeps the database small, and its people no longer than they may be. */
function createHousekeeping({ config, storage, logger, clock }: EngineDeps, works: Works): Loop[] {
  const { database, inbox } = storage;
  const { evidence, silence } = works;
  const channels = works.channels.map(({ name }) => name);
  const { deliveriesMs, peopleMs } = config.retention;
  const sweep = createSweep({
    database,
    clock,
    retention: createRetentionStore(database),
    lockEvidence: evidence.lock,
    retentionMs: peopleMs,
  });
  return [
    createNoticePurgeWorker({ ...works, channels, dispatches: createDispatchStore(database) }),
    createPurgeWorker({ inbox, logger, clock, retentionMs: deliveriesMs }),
    createRetentionWorker({ sweep, logger, clock }),
    createVacuumWorker(database, logger, clock),
    createClearImportsWorker({ database, staging: createStagingStore(database), logger, clock }),
    createAliveWorker(silence, clock, logger),
  ];
}

async function prepare(
  { logger }: EngineDeps,
  works: Works,
  { acceptsOrphans, isRestored }: StartOptions,
): Promise<void> {
  const { subscription, silence } = works;
  await mendAfterSetBack(works);
  const orphaned = await checkOrphans(works, acceptsOrphans);
  if (orphaned !== null) logger.warn({ orphaned }, 'Kept although the configuration leads elsewhere');
  if (subscription.publicUrl === undefined) await subscription.subscriptions.forgetTroubles();
  await silence.look(isRestored);
}
