import { budgetJob, sweepJob } from '../budget/budget-job.ts';
import { keepAnswer } from '../budget/keep-budget.ts';
import { paymentJob } from '../budget/payment-job.ts';
import type { Config } from '../config/config-schema.ts';
import { inTransaction } from '../db/database.ts';
import { createFileWatch } from '../db/sqlite-file.ts';
import { createIntakeWorker } from '../evidence/intake-worker.ts';
import { guidelineJob } from '../guidelines/sync-guidelines.ts';
import { approvalJob } from '../hires/ask-approval.ts';
import type { StorageGate } from '../http/receiver/limits.ts';
import type { Inbox } from '../inbox/inbox.ts';
import { createInstallsWorker } from '../installs/installs-worker.ts';
import { tokenExpiryJob } from '../installs/rotate-token.ts';
import { type JobKind, jobOf } from '../jobs/job.ts';
import { wantJobs } from '../jobs/job-store.ts';
import { toInstant } from '../lib/clock.ts';
import type { Loop } from '../lib/loop.ts';
import { rerouteInstalls } from '../memberships/derivation-store.ts';
import { checkOrphans } from '../memberships/orphan-store.ts';
import { createMailWorker } from '../notify/mail-worker.ts';
import { createNotifyWorker } from '../notify/notify-worker.ts';
import { createSendMail } from '../notify/send-mail.ts';
import { createAlertWorker } from '../operations/alert-worker.ts';
import { type FeedPorts, feedJob } from '../reconcile/feed/feed-job.ts';
import { createClockWorker, mendAfterSetBack } from '../reconcile/read/clock-worker.ts';
import { contractJob } from '../reconcile/read/contract-job.ts';
import { wantRead } from '../reconcile/read/install-state-store.ts';
import { createRunWorker, reconcileJob } from '../reconcile/runs/reconcile-install.ts';
import { scheduleJob, silentJob } from '../reconcile/runs/schedule-jobs.ts';
import { checkSilence, createAliveWorker, refuseCopy } from '../reconcile/runs/silence.ts';
import { postponeUnplaced } from '../reconcile/runs/unplaced-store.ts';
import { noteUnmatched, subscriptionJob } from '../subscription/subscription-job.ts';
import { forgetSubscriptionTroubles } from '../subscription/subscription-store.ts';
import { createReportWorker, finalReportJob } from '../usage/report/report-worker.ts';
import { housekeeping } from './housekeeping.ts';
import { createServices, type Services, type ServicesDeps } from './services.ts';

interface LoopsDeps extends ServicesDeps {
  inbox: Inbox;
  /** Why a large delivery of an install would not be stored now. */
  wouldDefer: StorageGate['wouldDefer'];
}

export type Loops = ReturnType<typeof createLoops>;

/** All loops, from the inbox to the tools. */
export function createLoops(deps: LoopsDeps) {
  const { config, clock } = deps;
  const ports = { append: deps.inbox.append, wouldDefer: deps.wouldDefer };
  const services = createServices({ ...deps, jobs: jobKinds(config, ports) });
  const intakeWorker = createIntakeWorker(services, {
    wantInstallRead: wantRead,
    isReceiverBusy: deps.inbox.isBusy,
  });
  services.wakes.add('intake', intakeWorker);
  const installsWorker = createInstallsWorker(services, deps.registry, async (changed) => {
    if (await rerouteInstalls(services, changed)) services.wake('intake');
  });
  // Without mail in the configuration, invitations wait for an operator.
  const { mail } = config;
  const mailWorker = mail && createMailWorker(services, { send: createSendMail(mail.smtp), style: mail });
  const writers = [
    intakeWorker,
    createRunWorker(services),
    ...(mailWorker === undefined ? [] : [mailWorker]),
    ...services.loops,
    createReportWorker(services, keepAnswer),
  ];
  const workers = [
    installsWorker,
    ...writers,
    // No channel waits for another.
    ...services.channels.map((channel) => createNotifyWorker(services, channel)),
  ];
  const clockWorker = createClockWorker(services, clock);
  const loops = [
    clockWorker,
    ...workers,
    createAliveWorker(services),
    createAlertWorker(services, deps.wouldDefer),
    createFileWatch(services, writers),
  ];
  return {
    all: loops as readonly Loop[],
    /** The context of the loops. */
    services,
    /** Resolves when every loop has ended. */
    stop: async () => void (await Promise.all(loops.map((loop) => loop.stop()))),
    prepare: (options: PrepareOptions) => prepare(services, options),
    /** Call it when this process or another has written something. */
    wakeAll() {
      for (const loop of workers) loop.wake();
    },
    /** Call it when no secret of an install made the signature of a request. */
    noteUnmatched: (install: string) => noteUnmatched(services, install),
    /** Call it when a delivery of an install was received and stored. It only writes to memory. */
    noteDelivery: (install: string) => services.hurry('feed', install),
    /** Loads what a command or another instance has changed about installs up to now. */
    loadInstalls: installsWorker.load,
  };
}

/** The kinds of jobs that a running Gangway has. */
export function jobKinds({ receiver }: Pick<Config, 'receiver'>, ports: FeedPorts): JobKind[] {
  // Without a public address the marketplace cannot deliver, so there is no subscription to watch.
  const watch = receiver.publicUrl === undefined ? [] : [subscriptionJob];
  return [
    feedJob(ports),
    ...watch,
    contractJob,
    reconcileJob,
    scheduleJob,
    silentJob,
    guidelineJob,
    budgetJob,
    sweepJob,
    paymentJob,
    approvalJob,
    tokenExpiryJob,
    finalReportJob(keepAnswer),
    ...housekeeping,
  ];
}

/** What the operator says at the start. */
export interface PrepareOptions {
  /** Whether to start although the configuration no longer covers memberships that exist. */
  acceptsOrphans?: boolean;
  /** Whether the database comes from a backup: then every install is read before any loop acts. */
  isRestored?: boolean;
  /** Whether the database was copied here, and nothing runs on the other one. */
  isMoved?: boolean;
}

/**
 * Checks, before any loop starts, whether the loops may act on what is in the database.
 *
 * @throws AppError `conflict` where the configuration no longer covers memberships that exist
 */
async function prepare(
  services: Services,
  { acceptsOrphans = false, isRestored = false, isMoved = false }: PrepareOptions,
): Promise<void> {
  const { config, clock, database, installs, logger } = services;
  if (!isRestored && !isMoved) await refuseCopy(services);
  await mendAfterSetBack(services, clock.takeLatest().getTime());
  const orphaned = await checkOrphans(services, acceptsOrphans);
  if (orphaned !== null) logger.warn({ orphaned }, 'Memberships that the configuration no longer covers are kept');
  await postponeUnplaced(services, [...installs.keys()]);
  if (config.receiver.publicUrl === undefined) await forgetSubscriptionTroubles(services);
  else
    await inTransaction(database, (tx) =>
      wantJobs(tx, 'subscription', [...installs.keys()].map(jobOf), toInstant(clock.now())),
    );
  await checkSilence(services, isRestored);
}
