import { toInstant } from '../lib/clock.ts';
import { createLoop, type Loop, type Polling } from '../lib/loop.ts';
import type { Metrics } from '../lib/metrics.ts';
import { type BudgetStore, createBudgetStore } from './budget-store.ts';
import { createKeepAnswer, type KeepAnswer } from './keep-budget.ts';
import { type ReadBudgetsDeps, readNextInstall } from './read-budgets.ts';
import { createReaderStore } from './reader-store.ts';
import { type SweepContractsDeps, sweepContracts } from './sweep-contracts.ts';
import { createSweepStore } from './sweep-store.ts';

export interface BudgetWorkerDeps extends ReadBudgetsDeps, SweepContractsDeps, Polling {}

export type BudgetParts = Omit<BudgetWorkerDeps, 'budgets' | 'readers' | 'sweeps'>;

/**
 * What is left of the money that a contract was funded with. Only readings set it: an event asks for a reading, and a
 * later request beats an earlier one. Nothing here changes memberships or reports.
 */
export interface Budgets {
  keepAnswer: KeepAnswer;
  reader: Loop;
}

export function createBudgets(parts: BudgetParts): Budgets {
  const { database } = parts;
  const deps: BudgetWorkerDeps = {
    ...parts,
    budgets: createBudgetStore(database),
    readers: createReaderStore(database),
    sweeps: createSweepStore(database),
  };
  return { keepAnswer: createKeepAnswer(deps), reader: createBudgetWorker(deps) };
}

/** How often the evidence is searched for contracts whose budget is to be read. */
const sweepEveryMs = 60_000;
/** How many installs are read side by side. */
const installsAtOnce = 4;
const stallMs = 5 * 60_000;

/** Reads budgets when contracts begin, when events mention a budget, and from time to time. */
export function createBudgetWorker(deps: BudgetWorkerDeps): Loop {
  const { readers, sources, logger, clock } = deps;
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
        await showCounts(deps.budgets, deps.metrics);
        sweptAt = now.getTime();
      }
      if (!(await readers.hasDue(toInstant(now), [...sources.keys()]))) return 'idle';
      const readAll = async () => {
        while (!signal.aborted && (await readNextInstall(deps, signal))) beat();
      };
      await Promise.all(Array.from({ length: installsAtOnce }, readAll));
      return 'idle';
    },
  });
}

async function showCounts(budgets: BudgetStore, metrics: Metrics): Promise<void> {
  const counts = await budgets.countByState();
  metrics.budgets.reset();
  for (const { install, state, count } of counts) metrics.budgets.set({ install, state }, count);
}
