import type { Loop } from '../lib/loop.ts';
import { createBudgetStore } from './budget-store.ts';
import { type BudgetWorkerDeps, createBudgetWorker } from './budget-worker.ts';
import { createKeepAnswer, type KeepAnswer } from './keep-budget.ts';
import { createReaderStore } from './reader-store.ts';
import { createSweepStore } from './sweep-store.ts';

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
