import { type Database, inTransaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type ApplyDeps, applyEvidence } from '../engine/apply-evidence.ts';
import type { ReportEvidence } from '../engine/report-evidence.ts';
import type { Alerts } from '../lib/alerts.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import type { PlatformApi } from '../marketplace/platform-api.ts';
import { evidenceOfInstall } from './evidence-of-install.ts';
import type { InstallClaim, InstallStateStore } from './install-state-store.ts';
import { readInstall } from './read-install.ts';

export interface ReconcileWorkerDeps extends ApplyDeps {
  database: Database;
  installStates: InstallStateStore;
  /** By install. */
  platformApis: ReadonlyMap<string, PlatformApi>;
  report: ReportEvidence;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
  /** Called when there is something to be done in a tool. */
  onMembershipDue(): void;
}

/** As long as a dead worker may hold things up. A read that takes longer is at worst made twice. */
const leaseMs = 30_000;
const stallMs = 15 * 60_000;
const pollMs = 1000;

/**
 * Reads whole installs where that was asked for, and adds what they say as evidence. A read that
 * failed, or came back without something, removes nobody.
 */
export function createReconcileWorker(deps: ReconcileWorkerDeps): Loop {
  const { installStates, logger, clock } = deps;
  return createLoop({
    name: 'reconcile',
    intervalMs: pollMs,
    logger,
    clock,
    stallMs,
    async run(signal) {
      const now = toInstant(clock.now());
      if (!(await installStates.hasDue(now))) return 'idle';
      const claim = await installStates.claim(now, instantIn(clock, leaseMs));
      if (claim === null) return 'idle';
      await reconcile(deps, claim, signal);
      return 'more';
    },
  });
}

async function reconcile(
  deps: ReconcileWorkerDeps,
  claim: InstallClaim,
  signal: AbortSignal,
): Promise<void> {
  const { installStates, logger, clock } = deps;
  const { install } = claim;
  const beganAt = toInstant(clock.now());
  try {
    await readAndApply(deps, install, beganAt, signal);
    await installStates.settle(claim, beganAt);
    logger.info({ install }, 'An install was read');
  } catch (thrown) {
    const error = toAppError(thrown);
    if (!signal.aborted) reportFailure(deps, install, error);
    const waitMs = backoffMs(claim.attempts + 1, error.retryAfterMs);
    await installStates.postpone(claim, maskText(error.message), instantIn(clock, waitMs));
  }
}

async function readAndApply(
  deps: ReconcileWorkerDeps,
  install: string,
  beganAt: string,
  signal: AbortSignal,
): Promise<void> {
  const { database, installStates, platformApis, clock } = deps;
  const api = platformApis.get(install);
  if (api === undefined) {
    throw new AppError('not_found', `The install ${install} is not configured`);
  }
  const known = await installStates.known(install);
  const read = await readInstall(api, install, known, beganAt, signal);
  for (const evidence of evidenceOfInstall(read, known)) {
    const applied = await inTransaction(database, async (tx) => {
      await deps.evidence.lock(tx);
      return await applyEvidence(deps, tx, evidence, toInstant(clock.now()));
    });
    deps.report(applied.changed);
    if (applied.isDue) deps.onMembershipDue();
  }
}

function reportFailure(
  { alerts, logger }: ReconcileWorkerDeps,
  install: string,
  error: AppError,
): void {
  logger.warn({ err: error, install }, 'An install could not be read');
  if (error.code !== 'unauthenticated' && error.code !== 'forbidden') return;
  alerts.raise(
    'marketplace_refuses',
    { install, status: error.status },
    'The marketplace refuses the token of an install: nobody is removed by that, and nothing is read',
  );
}
