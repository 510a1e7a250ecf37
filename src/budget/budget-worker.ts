import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { createInstallLanes, type LaneHold } from '../db/install-lanes.ts';
import { type AppError, toAppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { revokedGrant, statusOfLink } from '../domain/evidence-status.ts';
import { instantIn, toInstant } from '../lib/clock.ts';
import { chunksOf } from '../lib/lists.ts';
import type { Loop } from '../lib/loop.ts';
import { maskText } from '../lib/mask.ts';
import { backoffMs } from '../lib/retry.ts';
import type { Source } from '../sources/source.ts';
import { countBudgetsByState, type DueBudget, postponeBudget } from './budget-store.ts';
import { type Judgement, judgeContract, type SweptContract } from './judge-contract.ts';
import { keepBudget } from './keep-budget.ts';
import { installsWithBudgetsDue, keepBudgetReader, listDueBudgets } from './reader-store.ts';
import { endBudget, linksOfSweptContracts, listGrants, pageSweptContracts, wantBudgets } from './sweep-store.ts';

/** How often the evidence is searched for contracts whose budget is to be read. */
const sweepEveryMs = 60_000;
/** How many installs are read side by side. */
const installsAtOnce = 4;
const stallMs = 5 * 60_000;

/**
 * Reads budgets when contracts begin, when events mention a budget, and from time to time. A budget is what is left of
 * the money that a contract was funded with. Only readings set it: an event asks for a reading, and a later request
 * beats an earlier one. Nothing here changes memberships or reports.
 */
export function createBudgetWorker(ctx: Context): Loop {
  const { sources, clock } = ctx;
  let sweptAt = Number.NEGATIVE_INFINITY;
  return createInstallLanes(ctx, {
    name: 'budget',
    stallMs,
    leaseMs,
    atOnce: installsAtOnce,
    async due() {
      const now = clock.now();
      if (now.getTime() - sweptAt >= sweepEveryMs) {
        await sweepContracts(ctx);
        await showCounts(ctx);
        sweptAt = now.getTime();
      }
      return await installsWithBudgetsDue(ctx, [...sources.keys()], toInstant(now));
    },
    work: (install, signal, hold) => readBudgets(ctx, install, signal, hold),
  });
}

async function showCounts(ctx: Context): Promise<void> {
  const counts = await countBudgetsByState(ctx);
  ctx.metrics.budgets.reset();
  for (const { install, state, count } of counts) ctx.metrics.budgets.set({ install, state }, count);
}

const pageSize = 500;
/** Keeps write transactions short. */
const writeSize = 100;

/** Searches the evidence for budgets to read, page by page, so that others are not blocked. */
export async function sweepContracts(ctx: Context): Promise<void> {
  const grants = Map.groupBy(await listGrants(ctx), ({ install }) => install);
  const isGranted = (install: string) => revokedGrant(grants.get(install) ?? []) === null;
  for (let after: ContractKey | null = null; ; ) {
    const page = await pageSweptContracts(ctx, after, pageSize);
    await judgePage(ctx, page, isGranted);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last;
    await nextTurn();
  }
}

async function judgePage(
  ctx: Context,
  page: readonly SweptContract[],
  isGranted: (install: string) => boolean,
): Promise<void> {
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined) return;
  const links = await linksOfSweptContracts(ctx, first, last);
  const linked = new Set(links.filter((one) => statusOfLink(one) === 'live').map(keyOf));
  const judged = page.map((contract) => {
    const isLinked = linked.has(keyOf(contract));
    const footing = { isLinked, isGranted: isGranted(contract.install) };
    return { contract, judgement: judgeContract(contract, footing) };
  });
  const those = (wanted: Judgement) =>
    judged.flatMap(({ contract, judgement }) => (judgement === wanted ? [contract] : []));
  for (const part of chunksOf(those('read'), writeSize)) {
    await inTransaction(ctx.database, (tx) => wantBudgets(tx, part, toInstant(ctx.clock.now())));
  }
  for (const part of chunksOf(those('end'), writeSize)) {
    await inTransaction(ctx.database, async (tx) => {
      for (const contract of part) await endBudget(tx, contract);
    });
  }
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}

/** One request with all its retries fits into it. */
const leaseMs = 90_000;
/** How many budgets of an install are read before the next install has its turn. */
const batchSize = 20;
const dayMs = 24 * 3_600_000;
/** A refused token may be replaced in the meantime. */
const refusedRestMs = 15 * 60_000;

/** Reads the due budgets of one install, one request after the other. */
export async function readBudgets(ctx: Context, install: string, signal: AbortSignal, hold: LaneHold): Promise<void> {
  const { sources, clock } = ctx;
  const source = sources.get(install);
  if (source === undefined) return;
  const due = await listDueBudgets(ctx, install, toInstant(clock.now()), batchSize);
  let rests = due[0]?.rests ?? 0;
  let hasAnswered = false;
  for (const one of due) {
    await hold.renew();
    hold.beat();
    const failure = await readOne(ctx, source, one, signal);
    if (signal.aborted) return;
    if (failure !== null && concernsInstall(failure)) return await rest(ctx, install, rests, failure);
    if (failure !== null && failure.code !== 'not_found') continue;
    rests = 0;
    hasAnswered = true;
  }
  if (hasAnswered) await keepBudgetReader(ctx, { install, attempts: 0, failure: null, restUntil: null });
}

/** @returns why the budget is not known now */
async function readOne(ctx: Context, source: Source, due: DueBudget, signal: AbortSignal): Promise<AppError | null> {
  const { metrics, logger, clock } = ctx;
  const { install, contractId, dueAt } = due;
  const askedAt = toInstant(clock.now());
  try {
    const budget = await source.readBudget(contractId, signal);
    metrics.budgetReads.inc({ install, outcome: 'read' });
    await keepBudget(ctx, { install, contractId, budget, askedAt, dueAt });
    return null;
  } catch (thrown) {
    const error = toAppError(thrown);
    if (signal.aborted) return error;
    metrics.budgetReads.inc({ install, outcome: 'failed' });
    logger.warn({ err: error, install, contractId }, 'A budget could not be read');
    await putOff(ctx, due, askedAt, error);
    return error;
  }
}

/** When the whole install is refused, the contract stays due: the refusal says nothing about it. */
async function putOff(ctx: Context, due: DueBudget, askedAt: string, error: AppError): Promise<void> {
  if (isRefused(error) || error.code === 'rate_limited') return;
  const isNotFound = error.code === 'not_found';
  const waitMs = isNotFound ? dayMs : backoffMs(due.attempts + 1, error.retryAfterMs);
  const failure = isNotFound ? 'the marketplace has no such contract on a linked job' : maskText(error.message);
  const nextReadAt = instantIn(ctx.clock, waitMs);
  await postponeBudget(ctx, due, { askedAt, failure, nextReadAt, isNotFound });
}

/** @param rests how often in a row the install was left to rest before */
async function rest(ctx: Context, install: string, rests: number, error: AppError): Promise<void> {
  const attempts = rests + 1;
  const waitMs = isRefused(error) ? refusedRestMs : backoffMs(attempts, error.retryAfterMs);
  const restUntil = instantIn(ctx.clock, waitMs);
  await keepBudgetReader(ctx, { install, attempts, failure: maskText(error.message), restUntil });
}

/** Whether the other contracts of the install need not be asked about now. */
function concernsInstall(error: AppError): boolean {
  return isRefused(error) || error.code === 'rate_limited' || error.code === 'unavailable';
}

function isRefused({ code }: AppError): boolean {
  return code === 'unauthenticated' || code === 'forbidden';
}
