import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { type ContractRegisters, revokedGrant, statusOfContract, statusOfLink } from '../domain/evidence-status.ts';
import { type Job, type JobKind, soleJob } from '../jobs/job.ts';
import { toInstant } from '../lib/clock.ts';
import { chunksOf } from '../lib/lists.ts';
import {
  linksOfSweptContracts,
  listGrants,
  noteUnknownBudget,
  pageSweptContracts,
  type SweptContract,
  unwatchBudget,
  watchBudgets,
} from './budget-store.ts';
import { keepBudget } from './keep-budget.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * Reads the budget of a contract when it begins, when events mention it, and from time to time. A budget is what is left
 * of the money that a contract was funded with. Only readings set it: an event asks for a reading, and a later request
 * beats an earlier one. Nothing here changes memberships or reports.
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
  const { nextReadAt } = await keepBudget(ctx, { install, contractId, budget, askedAt });
  return Math.max(0, Date.parse(nextReadAt) - ctx.clock.now().getTime());
}

/** Searches the evidence for contracts whose budget is to be read, or no longer. */
export const sweepJob = soleJob('budget sweep', async (ctx) => {
  await sweepContracts(ctx);
  return 60_000;
});

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
    await inTransaction(ctx.database, (tx) => watchBudgets(tx, part, toInstant(ctx.clock.now())));
  }
  for (const part of chunksOf(those('end'), writeSize)) {
    await inTransaction(ctx.database, async (tx) => {
      for (const contract of part) await unwatchBudget(tx, contract);
    });
  }
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}

interface ContractFooting {
  /** Whether any of its links is live. */
  isLinked: boolean;
  /** Whether the grant of its install is live. */
  isGranted: boolean;
}

/** To read the budget now, to stop reading it, or to change nothing. */
type Judgement = 'read' | 'end' | 'leave';

/**
 * Pure: whether the evidence asks for a reading. It does when a contract begins, when an event has mentioned its
 * budget since the last request, and when there is new evidence of a contract that was not found.
 */
function judgeContract(contract: SweptContract, footing: ContractFooting): Judgement {
  const { isWatched, budgetEventAt, metEventAt } = contract;
  if (!isActive(contract, footing)) return isWatched ? 'end' : 'leave';
  if (!isWatched) return 'read';
  if (budgetEventAt !== null && budgetEventAt > (metEventAt ?? '')) return 'read';
  return isHeardOfAgain(contract) ? 'read' : 'leave';
}

function isActive(contract: ContractRegisters, { isLinked, isGranted }: ContractFooting) {
  const status = statusOfContract(contract);
  return isLinked && isGranted && (status === 'active' || status === 'disputed');
}

function isHeardOfAgain({ notFoundAt, startedEventAt, activeReadAt }: SweptContract): boolean {
  if (notFoundAt === null) return false;
  return [startedEventAt, activeReadAt].some((heardAt) => heardAt !== null && heardAt > notFoundAt);
}
