import { type AppError, toAppError } from '../domain/errors.ts';
import { backoffMs } from '../lib/backoff.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Source } from '../sources/source.ts';
import { type DueBudget, postponeBudget } from './budget-store.ts';
import { type KeepBudgetDeps, keepBudget } from './keep-budget.ts';
import {
  claimBudgetReader,
  holdBudgetReader,
  type ReaderClaim,
  releaseBudgetReader,
  restBudgetReader,
} from './reader-store.ts';

type BudgetSource = Pick<Source, 'readBudget'>;

export interface ReadBudgetsDeps extends KeepBudgetDeps {
  /** By install, always up to date. */
  sources: ReadonlyMap<string, BudgetSource>;
  metrics: Metrics;
}

/** One request with all its retries fits into it. */
const leaseMs = 90_000;
/** How many budgets of an install are read before the next install has its turn. */
const batchSize = 20;
const dayMs = 24 * 3_600_000;
/** A refused token may be replaced in the meantime. */
const refusedRestMs = 15 * 60_000;

/**
 * Reads the due budgets of one install, one request after the other.
 *
 * @returns false where nothing is due, or all that is due is being read
 */
export async function readNextInstall(deps: ReadBudgetsDeps, signal: AbortSignal): Promise<boolean> {
  const { sources, clock } = deps;
  const claim = await claimBudgetReader(deps, {
    now: toInstant(clock.now()),
    leasedUntil: instantIn(clock, leaseMs),
    installs: [...sources.keys()],
    limit: batchSize,
  });
  if (claim === null) return false;
  const { hasAnswered, failure } = await readDue(deps, claim, signal);
  if (failure === null) await releaseBudgetReader(deps, claim, hasAnswered);
  else await rest(deps, hasAnswered ? { ...claim, attempts: 0 } : claim, failure);
  return true;
}

interface Answered {
  hasAnswered: boolean;
  /** Why the install is not asked any more for now. */
  failure: AppError | null;
}

async function readDue(deps: ReadBudgetsDeps, claim: ReaderClaim, signal: AbortSignal): Promise<Answered> {
  const { sources, clock } = deps;
  const source = sources.get(claim.install);
  let hasAnswered = false;
  for (const due of claim.due) {
    const mayAsk = !signal.aborted && (await holdBudgetReader(deps, claim, instantIn(clock, leaseMs)));
    if (source === undefined || !mayAsk) break;
    const failure = await readOne(deps, source, due, signal);
    if (signal.aborted) break;
    if (failure !== null && concernsInstall(failure)) return { hasAnswered, failure };
    hasAnswered ||= failure === null || failure.code === 'not_found';
  }
  return { hasAnswered, failure: null };
}

/** @returns why the budget is not known now */
async function readOne(
  deps: ReadBudgetsDeps,
  source: BudgetSource,
  due: DueBudget,
  signal: AbortSignal,
): Promise<AppError | null> {
  const { metrics, logger, clock } = deps;
  const { install, contractId, dueAt } = due;
  const askedAt = toInstant(clock.now());
  try {
    const budget = await source.readBudget(contractId, signal);
    metrics.budgetReads.inc({ install, outcome: 'read' });
    await keepBudget(deps, { install, contractId, budget, askedAt, dueAt });
    return null;
  } catch (thrown) {
    const error = toAppError(thrown);
    if (signal.aborted) return error;
    metrics.budgetReads.inc({ install, outcome: 'failed' });
    logger.warn({ err: error, install, contractId }, 'A budget could not be read');
    await putOff(deps, due, askedAt, error);
    return error;
  }
}

/** When the whole install is refused, the contract stays due: the refusal says nothing about it. */
async function putOff(deps: ReadBudgetsDeps, due: DueBudget, askedAt: string, error: AppError): Promise<void> {
  if (isRefused(error) || error.code === 'rate_limited') return;
  const isNotFound = error.code === 'not_found';
  const waitMs = isNotFound ? dayMs : backoffMs(due.attempts + 1, error.retryAfterMs);
  const failure = isNotFound ? 'the marketplace has no such contract on a linked job' : maskText(error.message);
  const nextReadAt = instantIn(deps.clock, waitMs);
  await postponeBudget(deps, due, { askedAt, failure, nextReadAt, isNotFound });
}

async function rest(deps: ReadBudgetsDeps, claim: ReaderClaim, error: AppError): Promise<void> {
  const waitMs = isRefused(error) ? refusedRestMs : backoffMs(claim.attempts + 1, error.retryAfterMs);
  await restBudgetReader(deps, claim, maskText(error.message), instantIn(deps.clock, waitMs));
}

/** Whether the other contracts of the install need not be asked about now. */
function concernsInstall(error: AppError): boolean {
  return isRefused(error) || error.code === 'rate_limited' || error.code === 'unavailable';
}

function isRefused({ code }: AppError): boolean {
  return code === 'unauthenticated' || code === 'forbidden';
}
