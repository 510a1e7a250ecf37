import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTransaction } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { type Evidence, emptyEvidence } from '../../domain/evidence.ts';
import { applyEvidence } from '../../evidence/apply-evidence.ts';
import { lockEvidence } from '../../evidence/evidence-store.ts';
import type { HeldEvidence } from '../../evidence/hold-evidence.ts';
import { type ReportEvidence, subjectOfHeld } from '../../evidence/report-evidence.ts';
import { backoffMs } from '../../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Polling } from '../../lib/loop.ts';
import { maskText } from '../../lib/mask.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { withSpan } from '../../lib/tracing.ts';
import { hasPostponed } from '../../memberships/derivation-store.ts';
import type { DeriveDeps } from '../../memberships/derive-memberships.ts';
import type { Grant, Source, SourceReader } from '../../sources/source.ts';
import type { CheckDrift } from '../drift/check-drift.ts';
import { checkBegan } from '../read/clock-worker.ts';
import { reportDoubts, tellsActive, tellsRenewals } from '../read/doubts.ts';
import { contractsAtOnce } from '../read/evidence-of-install.ts';
import { createInstallLease, type InstallLease, installLeaseMs, withProgress } from '../read/hold-lease.ts';
import {
  claimInstallRead,
  type InstallClaim,
  knownOfInstall,
  postponeInstallRead,
  settleInstallRead,
  type WhichInstall,
} from '../read/install-state-store.ts';
import { type ReadSummary, readInSteps } from '../read/read-in-steps.ts';
import { reportUnreadJobs } from '../read/report-unread-jobs.ts';
import { noteListed } from './active-list-store.ts';
import type { ReportClock } from './report-clock.ts';
import type { ReportSuspects } from './report-suspects.ts';
import { beginRun, failRun, noteRunRead } from './run-store.ts';
import { postponeUnplaced } from './unplaced-store.ts';

export interface ReconcileDeps extends DeriveDeps, Polling {
  /** Binds an install to the customer of its first read. */
  learnCustomer(install: string, grant: Grant): Promise<void>;
  /** By the name of the install. */
  sources: ReadonlyMap<string, SourceReader & Pick<Source, 'clockDriftMs'>>;
  report: ReportEvidence;
  reportSuspects: ReportSuspects;
  reportClock: ReportClock;
  checkDrift: CheckDrift;
  metrics: Metrics;
  logger: Logger;
  clock: Clock;
  /** Call it when a membership is due. */
  onMembershipDue(): void;
}

/**
 * Claims an install whose read is due, and reads it. Every instance uses this, the command line too.
 *
 * @param which only this install; by default any
 * @returns false if there was none to claim: another instance reads it, or no read is due
 */
export async function reconcileNext(
  deps: ReconcileDeps,
  signal: AbortSignal,
  which: WhichInstall = {},
): Promise<boolean> {
  const taken = await takeNext(deps, which);
  if (taken === null) return false;
  await reconcileInstall(
    deps,
    createInstallLease(deps, taken, () => undefined),
    signal,
  );
  return true;
}

/** What is held after a silence waits for a read whose list of active contracts says something. */
const againAfterDoubtMs = 5 * 60_000;

/** Only claims the install; the caller reads it with `reconcileInstall`. */
export async function takeNext(ctx: ReconcileDeps, which: WhichInstall): Promise<InstallClaim | null> {
  return await claimInstallRead(ctx, toInstant(ctx.clock.now()), instantIn(ctx.clock, installLeaseMs), which);
}

/** Reads a claimed install, adds the answers as evidence, and records the run. */
export async function reconcileInstall(deps: ReconcileDeps, lease: InstallLease, signal: AbortSignal): Promise<void> {
  const { install, trigger } = lease.claim();
  const attributes = { 'gangway.install': install, 'gangway.trigger': trigger };
  await withSpan('reconcile install', { parent: null, attributes }, () => reconcile(deps, lease, signal));
}

async function reconcile(deps: ReconcileDeps, lease: InstallLease, signal: AbortSignal): Promise<void> {
  const { clock } = deps;
  const { install, trigger, attempts } = lease.claim();
  const beganAt = toInstant(clock.now());
  const run = await beginRun(deps, install, trigger, beganAt);
  try {
    const { contracts, doubts, unreadLinks, held } = await readAndApply(deps, lease, beganAt, signal);
    checkBegan(clock, install, beganAt);
    reportDoubts(deps, install, doubts);
    await noteRunRead(deps, run, contracts, toInstant(clock.now()));
    if (tellsRenewals(doubts)) await noteListed(deps, install, beganAt);
    if (tellsActive(doubts)) {
      await settleInstallRead(deps, lease.claim(), beganAt);
    } else {
      await settleInstallRead(deps, lease.claim(), beganAt, instantIn(clock, againAfterDoubtMs));
    }
    deps.alerts.observe('evidence_held', { install }, held.map(subjectOfHeld));
    reportUnreadJobs(deps, install, unreadLinks);
    await deps.reportSuspects(install);
    await postponeUnplaced(deps, [install]);
    await deps.checkDrift(install, signal);
  } catch (thrown) {
    const error = toAppError(thrown);
    if (!signal.aborted) reportFailure(deps, install, error);
    const waitMs = backoffMs(attempts + 1, error.retryAfterMs);
    const failure = maskText(error.message);
    await failRun(deps, run, failure, toInstant(clock.now()));
    await postponeInstallRead(deps, lease.claim(), failure, instantIn(clock, waitMs));
  }
  await deps.reportClock(deps.sources.get(install)?.clockDriftMs());
}

async function readAndApply(
  deps: ReconcileDeps,
  lease: InstallLease,
  beganAt: string,
  signal: AbortSignal,
): Promise<ReadSummary & { held: HeldEvidence[] }> {
  const { install } = lease.claim();
  const held: HeldEvidence[] = [];
  const known = await knownOfInstall(deps, install);
  const source = withProgress(learning(deps, install), lease.progress);
  const steps = readInSteps(source, install, known, beganAt, signal);
  for (;;) {
    const step = await steps.next();
    if (step.done) {
      await deriveAll(deps, install, lease.progress);
      return { ...step.value, held };
    }
    checkBegan(deps.clock, install, beganAt);
    const { evidence, doubts } = step.value;
    // All active contracts are evidence before the first end, so ends need no list of their own.
    const isEnd = evidence.contracts.some(({ endedReadAt }) => endedReadAt !== null);
    if (isEnd && tellsRenewals(doubts)) await noteListed(deps, install, beganAt);
    held.push(...(await addEvidence(deps, evidence)));
    await lease.progress();
    // On SQLite all of it ran in this thread. Deliveries are answered between the parts of a large read.
    if (evidence.contracts.length >= contractsAtOnce) await nextTurn();
  }
}

function learning(deps: ReconcileDeps, install: string): SourceReader {
  const source = findApi(deps, install);
  return {
    ...source,
    async readGrant(signal) {
      const grant = await source.readGrant(signal);
      await deps.learnCustomer(install, grant);
      return grant;
    },
  };
}

/** Derives everything that follows from the read, before the holds end. */
export async function deriveAll(deps: ReconcileDeps, install: string, onStep: () => Promise<void>): Promise<void> {
  while (await hasPostponed(deps, install)) {
    await addEvidence(deps, emptyEvidence());
    await onStep();
  }
}

/** @returns what exceeds a bound and was not taken in */
export async function addEvidence(deps: ReconcileDeps, evidence: Evidence): Promise<readonly HeldEvidence[]> {
  const { database, clock } = deps;
  const applied = await inTransaction(database, async (tx) => {
    await lockEvidence(deps, tx);
    return await applyEvidence(deps, tx, evidence, toInstant(clock.now()));
  });
  deps.report(applied.changed, applied.held);
  if (applied.isDue) deps.onMembershipDue();
  return applied.held;
}

/** @throws AppError `not_found` */
export function findApi({ sources }: Pick<ReconcileDeps, 'sources'>, install: string): SourceReader {
  const source = sources.get(install);
  if (source !== undefined) return source;
  throw new AppError('not_found', `The install ${install} is not configured`);
}

function reportFailure({ alerts, logger }: ReconcileDeps, install: string, error: AppError): void {
  logger.warn({ err: error, install }, 'An install could not be read');
  if (error.code === 'conflict') {
    const message = 'The token of an install belongs to another customer: nothing is read or changed with it';
    alerts.raise('other_customer', { install, reason: error.message }, message);
    return;
  }
  if (error.code !== 'unauthenticated' && error.code !== 'forbidden') return;
  alerts.raise(
    'marketplace_refuses',
    { install, status: error.status },
    'The marketplace refuses the token of an install: nothing is read, and no member is removed because of it',
  );
}
