import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import { inTransaction } from '../../db/database.ts';
import { toAppError } from '../../domain/errors.ts';
import { type Evidence, emptyEvidence } from '../../domain/evidence.ts';
import { applyEvidence, type HeldEvidence, reportHeld, subjectOfHeld } from '../../evidence/apply-evidence.ts';
import { learnBinding } from '../../installs/binding-store.ts';
import type { JobHold, JobKind } from '../../jobs/job.ts';
import { toInstant } from '../../lib/clock.ts';
import { createLoop, type Loop } from '../../lib/loop.ts';
import { maskText } from '../../lib/mask.ts';
import type { SourceReader, UnreadLink } from '../../marketplace/source.ts';
import { hasPostponed, lockEvidence } from '../../memberships/derivation-store.ts';
import { checkDrift } from '../drift/check-drift.ts';
import { reportDoubts, tellsActive, tellsRenewals } from '../read/doubts.ts';
import { contractsAtOnce, type ReadSummary, readInSteps } from '../read/evidence-of-install.ts';
import {
  findTrigger,
  isHeld,
  knownOfInstall,
  lockForReading,
  noteInstallRead,
  type Reading,
} from '../read/install-state-store.ts';
import { findSource, withProgress } from '../read/read-install.ts';
import { noteListed } from './active-list-store.ts';
import { reportClock } from './report-clock.ts';
import { beginRun, countRunWork, endRun, failRun, listOpenRuns, noteRunRead, type OpenRun } from './run-store.ts';
import { postponeUnplaced } from './unplaced-store.ts';

/** An install that is held after a silence is read this often until its list of active contracts is conclusive. */
const againAfterDoubtMs = 5 * 60_000;

/** Reads a whole install, adds the answers as evidence, and records the run. A failed read removes no member. */
export const reconcileJob: JobKind = {
  name: 'reconcile',
  // A large install takes hours.
  atOnce: 4,
  leaseMs: 30_000,
  stallMs: 15 * 60_000,
  installs: ({ sources }) => sources.keys(),
  failureMessage: 'An install could not be read',
  async run(ctx, { install }, signal, hold) {
    const { clock } = ctx;
    const beganAt = toInstant(clock.now());
    const run = await beginRun(ctx, install, await findTrigger(ctx, install), beganAt);
    try {
      return await reconcileInstall(ctx, { install, run, beganAt }, signal, hold);
    } catch (thrown) {
      await failRun(ctx, run, maskText(toAppError(thrown).message), toInstant(clock.now()));
      throw thrown;
    } finally {
      reportClock(ctx, install);
    }
  },
};

/** @returns after how long it is read again; null if it need not be */
async function reconcileInstall(
  ctx: Context,
  { install, run, beganAt }: { install: string; run: number; beganAt: string },
  signal: AbortSignal,
  hold: JobHold,
): Promise<number | null> {
  const { contracts, doubts, unreadLinks, held } = await readAndApply(ctx, install, beganAt, signal, hold.progress);
  reportDoubts(ctx, install, doubts);
  if (tellsRenewals(doubts)) await noteListed(ctx, { install, beganAt });
  const endsHolds = tellsActive(doubts);
  await noteInstallRead(ctx, { install, beganAt }, endsHolds, hold.confirm);
  await noteRunRead(ctx, run, contracts, toInstant(ctx.clock.now()));
  ctx.alerts.observe('evidence_held', { install }, held.map(subjectOfHeld));
  reportUnreadJobs(ctx, install, unreadLinks);
  await postponeUnplaced(ctx, [install]);
  await checkDrift(ctx, install, signal);
  return !endsHolds && (await isHeld(ctx, install)) ? againAfterDoubtMs : null;
}

async function readAndApply(
  ctx: Context,
  install: string,
  beganAt: string,
  signal: AbortSignal,
  progress: JobHold['progress'],
): Promise<ReadSummary & { held: HeldEvidence[] }> {
  const held: HeldEvidence[] = [];
  const known = await knownOfInstall(ctx, install);
  const source = withProgress(learning(ctx, install), progress);
  const steps = readInSteps(source, install, known, beganAt, signal);
  for (;;) {
    const step = await steps.next();
    if (step.done) {
      await deriveAll(ctx, install, progress);
      return { ...step.value, held };
    }
    const { evidence, doubts } = step.value;
    // All active contracts are evidence before the first end, so ends need no list of their own.
    const isEnd = evidence.contracts.some(({ endedReadAt }) => endedReadAt !== null);
    if (isEnd && tellsRenewals(doubts)) await noteListed(ctx, { install, beganAt });
    held.push(...(await addEvidence(ctx, evidence, { install, beganAt })));
    await progress();
    // On SQLite all of it ran in this thread. Deliveries are answered between the parts of a large read.
    if (evidence.contracts.length >= contractsAtOnce) await nextTurn();
  }
}

/** Binds an install to the customer of its first read. */
function learning(ctx: Context, install: string): SourceReader {
  const source = findSource(ctx, install);
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

/**
 * @param reading where the evidence is from, if not from what is known already
 * @returns what exceeds a bound and was not taken in
 * @throws AppError as `lockForReading` does
 */
export async function addEvidence(
  ctx: Context,
  evidence: Evidence,
  reading?: Reading,
): Promise<readonly HeldEvidence[]> {
  const { database, clock } = ctx;
  const applied = await inTransaction(database, async (tx) => {
    await (reading === undefined ? lockEvidence(ctx, tx) : lockForReading(ctx, tx, reading));
    return await applyEvidence(ctx, tx, evidence, toInstant(clock.now()));
  });
  reportHeld(ctx, applied.held);
  if (applied.isDue) ctx.wake('memberships');
  return applied.held;
}

/** Raises an alert for each job whose contracts were refused. It is over once they are answered again. */
function reportUnreadJobs({ alerts }: Context, install: string, unreadLinks: readonly UnreadLink[]): void {
  const refusals = new Map(unreadLinks.map(({ jobId, refusal }) => [jobId, refusal]));
  for (const [job, { message }] of refusals) {
    alerts.raise('job_unread', { install, job, reason: maskText(message) });
  }
  alerts.observe(
    'job_unread',
    { install },
    [...refusals.keys()].map((job) => ({ job })),
  );
}

/** Ends runs once what followed from their readings is done in the tools. */
export function createRunWorker(ctx: Context): Loop {
  const { pollMs, logger, clock } = ctx;
  return createLoop({
    name: 'runs',
    pollMs,
    logger,
    clock,
    async run() {
      await endRuns(ctx);
      return 'idle';
    },
  });
}

/** After this time, work that is not done counts as left over. */
const workMs = 60_000;
/** After this time without a result of the read, the process that began it is taken for dead. */
const readMs = 15 * 60_000;
/** A command ends its own runs, unless it is killed. */
const commandMs = 60 * 60_000;

/** Ends the runs whose work is done, or was not done in time. */
export async function endRuns(ctx: Context): Promise<void> {
  for (const run of await listOpenRuns(ctx)) await endIfDone(ctx, run);
}

async function endIfDone(
  ctx: Context,
  { id, install, beganAt, afterReceipt, readAt, trigger, leasedUntil }: OpenRun,
): Promise<void> {
  const now = toInstant(ctx.clock.now());
  const ageMs = Date.parse(now) - Date.parse(beganAt);
  if (trigger === 'command' && ageMs < commandMs) return;
  if (readAt === null) {
    const isBeingRead = leasedUntil !== null && leasedUntil > now;
    if (ageMs >= readMs && !isBeingRead) await failRun(ctx, id, 'Interrupted during the reading', now);
    return;
  }
  // First, so that what is derived in between is counted below.
  const isDerived = !(await hasPostponed(ctx, install));
  const work = await countRunWork(ctx, install, { at: beganAt, afterReceipt }, now, now);
  const isDone = work.left === 0 && isDerived;
  if (isDone || ageMs >= workMs) await endRun(ctx, id, work, now);
}
