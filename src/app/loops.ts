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
import { createServices, type Services, type ServicesDeps } from './services.ts';

export interface LoopsDeps extends ServicesDeps {
  /** Whether deliveries are being stored right now. */
  isBusy(): boolean;
}

/** Everything that acts by itself: the loops between the inbox and the tools. */
export interface Loops {
  all: readonly Loop[];
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
  alertsStored(): Promise<void>;
  /** Deliveries were stored. */
  wakeIntake(): void;
  /** A request for an install was signed with none of its secrets. */
  noteUnmatched(install: string): void;
}

export interface StartOptions {
  /** Whether to start although the configuration no longer leads to people who are in a tool. */
  acceptsOrphans: boolean;
  /** Whether the database comes from a backup: then the marketplace is asked before anything. */
  isRestored: boolean;
}

export function createLoops(deps: LoopsDeps): Loops {
  const { config, storage, logger, clock } = deps;
  const services = createServices(deps);
  const { installStates } = services;
  const readWorker = createReadWorker(services);
  const reconcileWorker = createReconcileWorker(services);
  const onReadWanted = () => {
    readWorker.wake();
    reconcileWorker.wake();
  };
  const intakeWorker = createIntakeWorker({
    ...services,
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
    onReadWanted,
    schedule: config.reconcile.schedule,
    installs: services.installs,
  });
  const installsWorker = createInstallsWorker({
    registry: deps.registry,
    logger,
    clock,
    async onLoaded(changed) {
      if (await rerouteInstalls(services, changed)) intakeWorker.wake();
    },
  });
  const subscriptionWorker = createSubscriptionWatch(deps, services);
  const acting = [
    installsWorker,
    intakeWorker,
    readWorker,
    reconcileWorker,
    scheduleWorker,
    ...(subscriptionWorker === undefined ? [] : [subscriptionWorker]),
    ...services.loops,
    ...createMailWorkers(deps, services),
    ...services.usage.reporters,
    services.budgets.reader,
    ...createNotifyWorkers(services),
  ];
  const clockWorker = createClockWorker({ ...services, onReadWanted });
  const loops = [clockWorker, ...acting, ...createHousekeeping(deps, services)];
  return {
    all: loops,
    stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))),
    prepare: (options: StartOptions) => prepare(deps, services, options),
    alerts: services.alerts,
    alertsStored: services.alertsStored,
    wakeIntake: () => intakeWorker.wake(),
    noteUnmatched: (install) => subscriptionWorker?.noteUnmatched(install),
  };
}

/** Without a public address nothing is delivered, and there is nothing to watch. */
function createSubscriptionWatch(
  { config }: LoopsDeps,
  { subscription, installs }: Services,
): SubscriptionWorker | undefined {
  if (config.receiver.publicUrl === undefined) return undefined;
  const { everyMs } = config.subscription;
  return createSubscriptionWorker({ ...subscription, installs, everyMs });
}

/** None where no mail is configured: then invitations wait for an operator. */
function createMailWorkers({ config, storage }: LoopsDeps, services: Services): Loop[] {
  const style = config.mail;
  if (style === undefined) return [];
  const mails = createMailStore(storage.database, storage.box);
  return [createMailWorker({ ...services, mails, send: createSendMail(style.smtp), style })];
}

/** One for each channel, so that none waits for another; and what clears up behind them. */
function createNotifyWorkers(services: Services): Loop[] {
  const dispatches = createDispatchStore(services.database);
  const names = services.channels.map(({ name }) => name);
  return [
    ...services.channels.map((channel) => createNotifyWorker({ ...services, channel, dispatches })),
    createNoticePurgeWorker({ ...services, channels: names, dispatches }),
  ];
}

/** What keeps the database small, and its people no longer than they may be. */
function createHousekeeping({ config, storage, logger, clock }: LoopsDeps, { evidence, silence }: Services): Loop[] {
  const { database, inbox } = storage;
  const { deliveriesMs, peopleMs } = config.retention;
  const sweep = createSweep({
    database,
    clock,
    retention: createRetentionStore(database),
    lockEvidence: evidence.lock,
    retentionMs: peopleMs,
  });
  return [
    createPurgeWorker({ inbox, logger, clock, retentionMs: deliveriesMs }),
    createRetentionWorker({ sweep, logger, clock }),
    createVacuumWorker(database, logger, clock),
    createClearImportsWorker({ database, staging: createStagingStore(database), logger, clock }),
    createAliveWorker(silence, clock, logger),
  ];
}

async function prepare(
  { logger }: LoopsDeps,
  services: Services,
  { acceptsOrphans, isRestored }: StartOptions,
): Promise<void> {
  const { subscription, silence } = services;
  await mendAfterSetBack(services);
  const orphaned = await checkOrphans(services, acceptsOrphans);
  if (orphaned !== null) logger.warn({ orphaned }, 'Kept although the configuration leads elsewhere');
  if (subscription.publicUrl === undefined) await subscription.subscriptions.forgetTroubles();
  await silence.check(isRestored);
}
