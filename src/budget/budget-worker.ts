import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTransaction } from '../db/database.ts';
import type { ContractKey } from '../domain/evidence.ts';
import { revokedGrant, statusOfLink } from '../domain/evidence-status.ts';
import { chunksOf } from '../lib/chunks.ts';
import { toInstant } from '../lib/clock.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import { countBudgetsByState } from './budget-store.ts';
import { type Judgement, judgeContract, type SweptContract } from './judge-contract.ts';
import { createKeepAnswer, type KeepAnswer } from './keep-budget.ts';
import { type ReadBudgetsDeps, readNextInstall } from './read-budgets.ts';
import { hasBudgetDue } from './reader-store.ts';
import { endBudget, linksOfSweptContracts, listGrants, pageSweptContracts, wantBudgets } from './sweep-store.ts';

export interface BudgetWorkerDeps extends ReadBudgetsDeps, Polling {}

/**
 * What is left of the money that a contract was funded with. Only readings set it: an event asks for a reading, and a
 * later request beats an earlier one. Nothing here changes memberships or reports.
 */
export interface Budgets {
  keepAnswer: KeepAnswer;
  reader: Loop;
}

export function createBudgets(deps: BudgetWorkerDeps): Budgets {
  return { keepAnswer: createKeepAnswer(deps), reader: createBudgetWorker(deps) };
}

/** How often the evidence is searched for contracts whose budget is to be read. */
const sweepEveryMs = 60_000;
/** How many installs are read side by side. */
const installsAtOnce = 4;
const stallMs = 5 * 60_000;

/** Reads budgets when contracts begin, when events mention a budget, and from time to time. */
export function createBudgetWorker(deps: BudgetWorkerDeps): Loop {
  const { sources, logger, clock } = deps;
  let sweptAt = Number.NEGATIVE_INFINITY;
  return createLoop({
    name: 'budget',
    pollMs: deps.pollMs,
    logger,
    clock,
    stallMs,
    async run(signal, beat) {
      const now = clock.now();
      if (now.getTime() - sweptAt >= sweepEveryMs) {
        await sweepContracts(deps, signal);
        await showCounts(deps);
        sweptAt = now.getTime();
      }
      if (!(await hasBudgetDue(deps, toInstant(now), [...sources.keys()]))) return 'idle';
      const readAll = async () => {
        while (!signal.aborted && (await readNextInstall(deps, signal))) beat();
      };
      await Promise.all(Array.from({ length: installsAtOnce }, readAll));
      return 'idle';
    },
  });
}

async function showCounts(deps: BudgetWorkerDeps): Promise<void> {
  const counts = await countBudgetsByState(deps);
  deps.metrics.budgets.reset();
  for (const { install, state, count } of counts) deps.metrics.budgets.set({ install, state }, count);
}

const pageSize = 500;
/** Keeps write transactions short. */
const writeSize = 100;

/** Searches the evidence for budgets to read, page by page, so that others are not blocked. */
export async function sweepContracts(deps: BudgetWorkerDeps, signal: AbortSignal): Promise<void> {
  const grants = Map.groupBy(await listGrants(deps), ({ install }) => install);
  const isGranted = (install: string) => revokedGrant(grants.get(install) ?? []) === null;
  let after: ContractKey | null = null;
  while (!signal.aborted) {
    const page = await pageSweptContracts(deps, after, pageSize);
    await judgePage(deps, page, isGranted);
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    after = last;
    await nextTurn();
  }
}

async function judgePage(
  deps: BudgetWorkerDeps,
  page: readonly SweptContract[],
  isGranted: (install: string) => boolean,
): Promise<void> {
  const [first, last] = [page[0], page.at(-1)];
  if (first === undefined || last === undefined) return;
  const links = await linksOfSweptContracts(deps, first, last);
  const linked = new Set(links.filter((one) => statusOfLink(one) === 'live').map(keyOf));
  const judged = page.map((contract) => {
    const isLinked = linked.has(keyOf(contract));
    const footing = { isLinked, isGranted: isGranted(contract.install) };
    return { contract, judgement: judgeContract(contract, footing) };
  });
  const those = (wanted: Judgement) =>
    judged.flatMap(({ contract, judgement }) => (judgement === wanted ? [contract] : []));
  for (const part of chunksOf(those('read'), writeSize)) {
    await inTransaction(deps.database, (tx) => wantBudgets(tx, part, toInstant(deps.clock.now())));
  }
  for (const part of chunksOf(those('end'), writeSize)) {
    await inTransaction(deps.database, async (tx) => {
      for (const contract of part) await endBudget(tx, contract);
    });
  }
}

function keyOf({ install, contractId }: ContractKey): string {
  return JSON.stringify([install, contractId]);
}
