import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { revokedGrant, statusOfContract, statusOfLink } from '../domain/evidence-status.ts';
import { type Job, type JobKind, soleJob } from '../jobs/job.ts';
import { dayMs, minuteMs, toInstant } from '../lib/clock.ts';
import { chunksOf } from '../lib/lists.ts';
import {
  budgetKey,
  linksOfSweptContracts,
  listGrants,
  noteUnknownBudget,
  pageSweptContracts,
  type SweptContract,
  unwatchBudget,
  watchBudgets,
} from './budget-store.ts';
import { keepBudget } from './keep-budget.ts';

/**
 * This folder watches budgets, the money left of what funded a contract, and payments. Nothing here changes memberships
 * or reports. A budget is read when its contract begins, after events about it, and from time to time. Only readings
 * set it, and a later request beats an earlier one.
 */
export const budgetJob: JobKind = {
  name: 'budget',
  atOnce: 4,
  // One request with all its retries.
  leaseMs: 1.5 * minuteMs,
  stallMs: 5 * minuteMs,
  installs: ({ sources }) => sources.keys(),
  restsTogether: true,
  run: readBudget,
};

async function readBudget(ctx: Context, { key, install }: Job, signal: AbortSignal): Promise<number | null> {
  const source = ctx.sources.get(install);
  if (source === undefined) throw new AppError('invalid', `The install ${install} is not configured`);
  const contractId = key.slice(install.length + 1);
  const askedAt = toInstant(ctx.clock.now());
  const budget = await source.readBudget(contractId, signal).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  });
  if (budget === null) {
    await noteUnknownBudget(ctx, { install, contractId }, askedAt);
    return dayMs;
  }
  const nextReadAt = await keepBudget(ctx, { install, contractId, budget, askedAt });
  return Math.max(0, Date.parse(nextReadAt) - ctx.clock.now().getTime());
}

export const sweepJob = soleJob('budget sweep', async (ctx) => {
  await sweepContracts(ctx);
  return minuteMs;
});

const pageSize = 500;
/** Keeps write transactions short. */
const writeSize = 100;

/** Searches the evidence for contracts whose budget has to be read now, or no longer. */
export async function sweepContracts(ctx: Context): Promise<void> {
  const grants = Map.groupBy(await listGrants(ctx), ({ install }) => install);
  const isGranted = (install: string) => revokedGrant(grants.get(install) ?? []) === null;
  for (let after: ContractKey | null = null; ; ) {
    const page = await pageSweptContracts(ctx, after, pageSize);
    await sweepPage(ctx, page, isGranted);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last;
    await nextTurn();
  }
}

async function sweepPage(
  ctx: Context,
  page: readonly SweptContract[],
  isGranted: (install: string) => boolean,
): Promise<void> {
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined) return;
  const links = await linksOfSweptContracts(ctx, first, last);
  const linked = new Set(links.filter((one) => statusOfLink(one) === 'live').map((one) => budgetKey(one).key));
  const isActive = (contract: SweptContract) =>
    ['active', 'disputed'].includes(statusOfContract(contract)) &&
    linked.has(budgetKey(contract).key) &&
    isGranted(contract.install);
  const { active = [], over = [] } = Object.groupBy(page, (contract) => (isActive(contract) ? 'active' : 'over'));
  for (const part of chunksOf(active.filter(needsReading), writeSize)) {
    await inTransaction(ctx.database, (tx) => watchBudgets(tx, part, toInstant(ctx.clock.now())));
  }
  const watched = over.filter(({ isWatched }) => isWatched);
  for (const part of chunksOf(watched, writeSize)) {
    await inTransaction(ctx.database, async (tx) => {
      for (const contract of part) await unwatchBudget(tx, contract);
    });
  }
}

/**
 * Pure: whether to read the budget of an active contract now: when the contract begins, when an event has mentioned the
 * budget since the last request, and when there is new evidence of a contract that was not found.
 */
function needsReading(contract: SweptContract): boolean {
  const { isWatched, budgetEventAt, metEventAt, notFoundAt, startedEventAt, activeReadAt } = contract;
  if (!isWatched || (budgetEventAt ?? '') > (metEventAt ?? '')) return true;
  return notFoundAt !== null && [startedEventAt, activeReadAt].some((heardAt) => (heardAt ?? '') > notFoundAt);
}
