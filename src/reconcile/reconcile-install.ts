import { type Database, inTransaction } from '../db/database.ts';
import { AppError, toAppError } from '../domain/errors.ts';
import { type ApplyDeps, applyEvidence } from '../engine/apply-evidence.ts';
import type { ReportEvidence } from '../engine/report-evidence.ts';
import type { Alerts } from '../lib/alerts.ts';
import { backoffMs } from '../lib/backoff.ts';
import { type Clock, instantIn, toInstant } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { maskText } from '../lib/mask.ts';
import type { PlatformReader } from '../marketplace/platform-api.ts';
import type { CheckDrift } from './check-drift.ts';
import { evidenceOfInstall } from './evidence-of-install.ts';
import type { InstallClaim, InstallStateStore } from './install-state-store.ts';
import { type InstallRead, readInstall } from './read-install.ts';
import type { RunStore } from './run-store.ts';

export interface ReconcileDeps extends ApplyDeps {
  database: Database;
  installStates: InstallStateStore;
  runs: RunStore;
  /** By install. */
  platformApis: ReadonlyMap<string, PlatformReader>;
  report: ReportEvidence;
  checkDrift: CheckDrift;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
  /** Called when there is something to be done in a tool. */
  onMembershipDue(): void;
}

/** As long as a dead worker may hold things up. A read that takes longer is at worst made twice. */
const leaseMs = 30_000;

/**
 * Takes an install that is to be read, if one is, and reads it. Every instance does so by this, the
 * command line too.
 *
 * @param only this install; any by default
 * @returns false where there was none to take: another has it, or it need not be read
 */
export async function reconcileNext(
  deps: ReconcileDeps,
  signal: AbortSignal,
  only?: string,
): Promise<boolean> {
  const { installStates, clock } = deps;
  const now = toInstant(clock.now());
  const claim = await installStates.claim(now, instantIn(clock, leaseMs), only);
  if (claim === null) return false;
  await reconcile(deps, claim, signal);
  return true;
}

/** Reads a claimed install, adds what it says as evidence, and writes down how that went. */
async function reconcile(
  deps: ReconcileDeps,
  claim: InstallClaim,
  signal: AbortSignal,
): Promise<void> {
  const { installStates, runs, logger, clock } = deps;
  const { install, trigger } = claim;
  const beganAt = toInstant(clock.now());
  const run = await runs.begin(install, trigger, beganAt);
  try {
    const read = await readAndApply(deps, install, beganAt, signal);
    logger.info({ install }, 'An install was read');
    await runs.read(run, read.contracts.length, toInstant(clock.now()));
    await installStates.settle(claim, beganAt);
    await deps.checkDrift(install, signal);
  } catch (thrown) {
    const error = toAppError(thrown);
    if (!signal.aborted) reportFailure(deps, install, error);
    const waitMs = backoffMs(claim.attempts + 1, error.retryAfterMs);
    const failure = maskText(error.message);
    await runs.fail(run, failure, toInstant(clock.now()));
    await installStates.postpone(claim, failure, instantIn(clock, waitMs));
  }
}

async function readAndApply(
  deps: ReconcileDeps,
  install: string,
  beganAt: string,
  signal: AbortSignal,
): Promise<InstallRead> {
  const { database, installStates, clock } = deps;
  const known = await installStates.known(install);
  const read = await readInstall(findApi(deps, install), install, known, beganAt, signal);
  for (const evidence of evidenceOfInstall(read, known)) {
    const applied = await inTransaction(database, async (tx) => {
      await deps.evidence.lock(tx);
      return await applyEvidence(deps, tx, evidence, toInstant(clock.now()));
    });
    deps.report(applied.changed);
    if (applied.isDue) deps.onMembershipDue();
  }
  return read;
}

/** @throws AppError `not_found` */
export function findApi(
  { platformApis }: Pick<ReconcileDeps, 'platformApis'>,
  install: string,
): PlatformReader {
  const api = platformApis.get(install);
  if (api !== undefined) return api;
  throw new AppError('not_found', `The install ${install} is not configured`);
}

function reportFailure({ alerts, logger }: ReconcileDeps, install: string, error: AppError): void {
  logger.warn({ err: error, install }, 'An install could not be read');
  if (error.code !== 'unauthenticated' && error.code !== 'forbidden') return;
  alerts.raise(
    'marketplace_refuses',
    { install, status: error.status },
    'The marketplace refuses the token of an install: nobody is removed by that, and nothing is read',
  );
}
