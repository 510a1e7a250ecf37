import { hostname } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError, toAppError } from '../../domain/errors.ts';
import { type Evidence, emptyEvidence } from '../../domain/evidence.ts';
import { applyEvidence, type HeldEvidence, reportHeld, subjectOfHeld } from '../../evidence/apply-evidence.ts';
import { learnBinding } from '../../installs/binding-store.ts';
import { instantIn, toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import { createQuiet } from '../../lib/quiet.ts';
import { remembered } from '../../lib/remembered.ts';
import { backoffMs } from '../../lib/retry.ts';
import { hasPostponed, lockEvidence } from '../../memberships/derivation-store.ts';
import { notableDriftMs, type SourceReader } from '../../sources/source.ts';
import { checkDrift } from '../drift/check-drift.ts';
import { checkBegan } from '../read/clock-worker.ts';
import { reportDoubts, tellsActive, tellsRenewals } from '../read/doubts.ts';
import { contractsAtOnce, type ReadSummary, readInSteps } from '../read/evidence-of-install.ts';
import { createInstallLease, type InstallLease, installLeaseMs, withProgress } from '../read/hold-lease.ts';
import {
  claimInstallRead,
  type InstallClaim,
  knownOfInstall,
  postponeInstallRead,
  settleInstallRead,
  type WhichInstall,
} from '../read/install-state-store.ts';
import { reportUnreadJobs } from '../read/report-unread-jobs.ts';
import { noteListed } from './active-list-store.ts';
import { beginRun, failRun, noteRunRead } from './run-store.ts';
import { postponeUnplaced } from './unplaced-store.ts';

/**
 * Claims an install whose read is due, and reads it. Every instance uses this, the command line too.
 *
 * @param which only this install; by default any
 * @returns false if there was none to claim: another instance reads it, or no read is due
 */
export async function reconcileNext(ctx: Context, signal: AbortSignal, which: WhichInstall = {}): Promise<boolean> {
  const taken = await takeNext(ctx, which);
  if (taken === null) return false;
  await reconcileInstall(
    ctx,
    createInstallLease(ctx, taken, () => undefined),
    signal,
  );
  return true;
}

/** What is held after a silence waits for a read whose list of active contracts says something. */
const againAfterDoubtMs = 5 * 60_000;

/** Only claims the install; the caller reads it with `reconcileInstall`. */
export async function takeNext(ctx: Context, which: WhichInstall): Promise<InstallClaim | null> {
  return await claimInstallRead(ctx, toInstant(ctx.clock.now()), instantIn(ctx.clock, installLeaseMs), which);
}

/** Reads a claimed install, adds the answers as evidence, and records the run. */
export async function reconcileInstall(ctx: Context, lease: InstallLease, signal: AbortSignal): Promise<void> {
  const { clock } = ctx;
  const { install, trigger, attempts } = lease.claim();
  const beganAt = toInstant(clock.now());
  const run = await beginRun(ctx, install, trigger, beganAt);
  try {
    const { contracts, doubts, unreadLinks, held } = await readAndApply(ctx, lease, beganAt, signal);
    checkBegan(clock, install, beganAt);
    reportDoubts(ctx, install, doubts);
    await noteRunRead(ctx, run, contracts, toInstant(clock.now()));
    if (tellsRenewals(doubts)) await noteListed(ctx, install, beganAt);
    if (tellsActive(doubts)) {
      await settleInstallRead(ctx, lease.claim(), beganAt);
    } else {
      await settleInstallRead(ctx, lease.claim(), beganAt, instantIn(clock, againAfterDoubtMs));
    }
    ctx.alerts.observe('evidence_held', { install }, held.map(subjectOfHeld));
    reportUnreadJobs(ctx, install, unreadLinks);
    await postponeUnplaced(ctx, [install]);
    await checkDrift(ctx, install, signal);
  } catch (thrown) {
    const error = toAppError(thrown);
    if (!signal.aborted) ctx.logger.warn({ err: error, install }, 'An install could not be read');
    const waitMs = backoffMs(attempts + 1, error.retryAfterMs);
    const failure = maskText(error.message);
    await failRun(ctx, run, failure, toInstant(clock.now()));
    await postponeInstallRead(ctx, lease.claim(), { failure, code: error.code }, instantIn(clock, waitMs));
  }
  reportClock(ctx, ctx.sources.get(install)?.clockDriftMs());
}

async function readAndApply(
  ctx: Context,
  lease: InstallLease,
  beganAt: string,
  signal: AbortSignal,
): Promise<ReadSummary & { held: HeldEvidence[] }> {
  const { install } = lease.claim();
  const held: HeldEvidence[] = [];
  const known = await knownOfInstall(ctx, install);
  const source = withProgress(learning(ctx, install), lease.progress);
  const steps = readInSteps(source, install, known, beganAt, signal);
  for (;;) {
    const step = await steps.next();
    if (step.done) {
      await deriveAll(ctx, install, lease.progress);
      return { ...step.value, held };
    }
    checkBegan(ctx.clock, install, beganAt);
    const { evidence, doubts } = step.value;
    // All active contracts are evidence before the first end, so ends need no list of their own.
    const isEnd = evidence.contracts.some(({ endedReadAt }) => endedReadAt !== null);
    if (isEnd && tellsRenewals(doubts)) await noteListed(ctx, install, beganAt);
    held.push(...(await addEvidence(ctx, evidence)));
    await lease.progress();
    // On SQLite all of it ran in this thread. Deliveries are answered between the parts of a large read.
    if (evidence.contracts.length >= contractsAtOnce) await nextTurn();
  }
}

/** Binds an install to the customer of its first read. */
function learning(ctx: Context, install: string): SourceReader {
  const source = findApi(ctx, install);
  return {
    ...source,
    async readGrant(signal) {
      const grant = await source.readGrant(signal);
      await learnBinding(ctx, install, grant);
      return grant;
    },
  };
}

/** Derives everything that follows from the read, before the holds end. */
export async function deriveAll(ctx: Context, install: string, onStep: () => Promise<void>): Promise<void> {
  while (await hasPostponed(ctx, install)) {
    await addEvidence(ctx, emptyEvidence());
    await onStep();
  }
}

/** @returns what exceeds a bound and was not taken in */
export async function addEvidence(ctx: Context, evidence: Evidence): Promise<readonly HeldEvidence[]> {
  const { database, clock } = ctx;
  const applied = await inTransaction(database, async (tx) => {
    await lockEvidence(ctx, tx);
    return await applyEvidence(ctx, tx, evidence, toInstant(clock.now()));
  });
  reportHeld(ctx, applied.held);
  if (applied.isDue) ctx.wake('memberships');
  return applied.held;
}

/** @throws AppError `not_found` */
export function findApi({ sources }: Context, install: string): SourceReader {
  const source = sources.get(install);
  if (source !== undefined) return source;
  throw new AppError('not_found', `The install ${install} is not configured`);
}

const repeatMs = 3_600_000;

/**
 * Raises an alert if this machine's clock is wrong: at most one an
 * hour, because all installs are measured by the same clock.
 *
 * @param driftMs by how much it is ahead of the marketplace's clock; undefined if unknown
 */
function reportClock({ database, alerts, clock }: Context, driftMs: number | undefined): void {
  if (driftMs === undefined) return;
  const quiet = remembered(database, 'clock drift', () => createQuiet(clock, repeatMs));
  const machine = hostname();
  const isNotable = Math.abs(driftMs) >= notableDriftMs;
  const driftSeconds = Math.round(driftMs / 1000);
  alerts.observe('clock_drift', { machine }, isNotable ? [{}] : []);
  if (!isNotable) quiet.forget('clock');
  if (!isNotable || quiet.letThrough('clock') === null) return;
  const says = `It is ${Math.abs(driftSeconds)} s ${driftSeconds < 0 ? 'behind' : 'ahead'}`;
  alerts.raise('clock_drift', { machine, driftSeconds }, says);
}
