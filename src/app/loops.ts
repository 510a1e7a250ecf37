import { createAnswerPurgeWorker } from '../api/kept-answer-store.ts';
import { createBudgetWorker } from '../budget/budget-worker.ts';
import { keepAnswer } from '../budget/keep-budget.ts';
import { wantPaymentsRead } from '../budget/payment-store.ts';
import { createPaymentWorker } from '../budget/payment-worker.ts';
import { usualSchedule } from '../config/config-schema.ts';
import { createFileWatch, createVacuumWorker } from '../db/sqlite-file.ts';
import { createIntakeWorker } from '../evidence/intake-worker.ts';
import { createGuidelinesWorker } from '../guidelines/guidelines-worker.ts';
import { createPurgeWorker, type Inbox } from '../inbox/inbox.ts';
import { createInstallsWorker } from '../installs/installs-worker.ts';
import { forgetSubscriptionTroubles } from '../installs/subscription/subscription-store.ts';
import { createSubscriptionWorker } from '../installs/subscription/subscription-worker.ts';
import { createTokenExpiryWorker } from '../installs/tokens/token-expiry-worker.ts';
import type { Loop } from '../lib/loop.ts';
import { createMailWorker } from '../mail/mail-worker.ts';
import { createSendMail } from '../mail/send-mail.ts';
import { checkOrphans } from '../memberships/find-orphans.ts';
import { rerouteInstalls } from '../memberships/link-router.ts';
import { createNoticePurgeWorker } from '../notify/notice-purge-worker.ts';
import { createNotifyWorker } from '../notify/notify-worker.ts';
import { createAlertWorker } from '../operator/alert-worker.ts';
import { createRetentionWorker } from '../privacy/retention-worker.ts';
import type { StorageGate } from '../receiver/storage-gate.ts';
import { createFeedWorker } from '../reconcile/feed/feed-worker.ts';
import { createClockWorker, mendAfterSetBack } from '../reconcile/read/clock-worker.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { createReadWorker } from '../reconcile/read/read-worker.ts';
import { createReconcileWorker } from '../reconcile/runs/reconcile-worker.ts';
import { chooseSilent, createScheduleWorker, silentSchedule } from '../reconcile/runs/schedule-worker.ts';
import { checkSilence, createAliveWorker } from '../reconcile/runs/silence.ts';
import { postponeUnplaced } from '../reconcile/runs/unplaced-store.ts';
import { createClearImportsWorker } from '../usage/import/clear-imports-worker.ts';
import { createFinalReportWorker } from '../usage/report/final-report-worker.ts';
import { createReportWorker } from '../usage/report/report-worker.ts';
import { createServices, type Services, type ServicesDeps } from './services.ts';

interface LoopsDeps extends ServicesDeps {
  inbox: Inbox;
  /** Why a large delivery of an install would not be stored now. */
  wouldDefer: StorageGate['wouldDefer'];
}

export type Loops = ReturnType<typeof createLoops>;

/** Everything that runs without being asked: the loops from the inbox to the tools. */
export function createLoops(deps: LoopsDeps) {
  const { config, clock } = deps;
  const services = createServices(deps);
  const readWorker = createReadWorker(services);
  const reconcileWorker = createReconcileWorker(services);
  services.wakes.add('reads', readWorker, reconcileWorker);
  const intakeWorker = createIntakeWorker(services, {
    wantInstallRead: wantRead,
    wantPaymentsRead,
    isReceiverBusy: deps.inbox.isBusy,
  });
  services.wakes.add('intake', intakeWorker);
  const isSilent = (install: string) => services.sources.get(install)?.hasSilentEnds === true;
  // Where nothing can be delivered all are asked each minute, except those that tell what happens in another way.
  const isPolled = config.receiver.publicUrl === undefined && config.reconcile.schedule === usualSchedule({});
  const scheduleWorkers = [
    createScheduleWorker(services, {
      pattern: config.reconcile.schedule,
      tickName: 'reconcile_tick',
      choose: async () => [...services.installs.keys()].filter((install) => !isPolled || !isSilent(install)),
    }),
    createScheduleWorker(services, {
      pattern: silentSchedule,
      tickName: 'silent_tick',
      choose: () => chooseSilent(services),
    }),
  ];
  const installsWorker = createInstallsWorker(services, deps.registry, async (changed) => {
    if (await rerouteInstalls(services, changed)) services.wake('intake');
  });
  const feedWorker = createFeedWorker(services, { append: deps.inbox.append, wouldDefer: deps.wouldDefer });
  const guidelinesWorker = createGuidelinesWorker(services);
  // Without a public address the marketplace cannot deliver, so there is no subscription to watch.
  const subscriptionWorker = config.receiver.publicUrl === undefined ? undefined : createSubscriptionWorker(services);
  // Without mail in the configuration, invitations wait for an operator.
  const { mail } = config;
  const mailWorker = mail && createMailWorker(services, { send: createSendMail(mail.smtp), style: mail });
  const workers = [
    installsWorker,
    intakeWorker,
    readWorker,
    reconcileWorker,
    ...scheduleWorkers,
    feedWorker,
    guidelinesWorker,
    ...[subscriptionWorker, mailWorker].filter((worker) => worker !== undefined),
    ...services.loops,
    createReportWorker(services, keepAnswer),
    createFinalReportWorker(services, keepAnswer),
    createBudgetWorker(services),
    createPaymentWorker(services),
    // No channel waits for another.
    ...services.channels.map((channel) => createNotifyWorker(services, channel)),
  ];
  const clockWorker = createClockWorker(services, clock);
  const loops = [
    clockWorker,
    ...workers,
    createAliveWorker(services),
    createTokenExpiryWorker(services),
    createAlertWorker(services, deps.wouldDefer),
    ...createHousekeeping(services),
  ];
  return {
    all: loops as readonly Loop[],
    /** What the loops act with. */
    services,
    /** Resolves when every loop has ended. */
    stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))),
    prepare: (acceptsOrphans: boolean, isRestored: boolean) => prepare(services, acceptsOrphans, isRestored),
    /** Call it when this process or another has written something. */
    wakeAll() {
      for (const loop of workers) loop.wake();
    },
    /** Call it when no secret of an install made the signature of a request. */
    noteUnmatched: (install: string) => subscriptionWorker?.noteUnmatched(install),
    /** Call it when a delivery of an install was received and stored. It only writes to memory. */
    noteDelivery: feedWorker.ring,
    /** Loads what a command or another instance has changed about installs up to now. */
    loadInstalls: installsWorker.load,
  };
}

/**
 * Checks, before any loop starts, whether the loops may act on what is in the database.
 *
 * @throws AppError `conflict` where the configuration no longer covers memberships that exist
 */
async function prepare(services: Services, acceptsOrphans: boolean, isRestored: boolean): Promise<void> {
  const { config, clock, installs, logger } = services;
  await mendAfterSetBack(services, clock.takeLatest().getTime());
  const orphaned = await checkOrphans(services, acceptsOrphans);
  if (orphaned !== null) logger.warn({ orphaned }, 'Memberships that the configuration no longer covers are kept');
  await postponeUnplaced(services, [...installs.keys()]);
  if (config.receiver.publicUrl === undefined) await forgetSubscriptionTroubles(services);
  await checkSilence(services, isRestored);
}

/** The loops that delete expired data, and keep and watch the database. */
function createHousekeeping(services: Services): Loop[] {
  const { database, logger, clock } = services;
  return [
    createPurgeWorker(services),
    createRetentionWorker(services),
    createVacuumWorker(database, logger, clock),
    createFileWatch(services),
    createClearImportsWorker(services),
    createAnswerPurgeWorker(services),
    createNoticePurgeWorker(services),
  ];
}
