import type { Generated, Selectable } from 'kysely';
import type { BudgetState, NotifiedBudgetState } from '../domain/budget.ts';
import type { BudgetFacts } from '../domain/notice.ts';

/** Tables of `tables.ts` that are about budgets: ids and numbers, and so kept for good. */
export interface BudgetTables {
  budget: BudgetTable;
  budgetReader: BudgetReaderTable;
}

interface BudgetTable extends BudgetFacts {
  install: string;
  contractId: string;
  /** Null before it was read. */
  state: BudgetState | null;
  /** When the reading began that was the first to find it in this state. */
  stateSince: string | null;
  paymentType: string | null;
  consumedSeconds: number | null;
  consumedLabels: number | null;
  consumedTasks: number | null;
  lastUsageAt: string | null;
  /** When the request began whose answer this is. */
  askedAt: string | null;
  /** Null while the contract is not under way. */
  nextReadAt: string | null;
  /** The latest `milestone.*` that a reading was asked for. */
  metEventAt: string | null;
  /** When a request began that was answered that there is no such contract; null after any other. */
  notFoundAt: string | null;
  attempts: Generated<number>;
  failure: string | null;
  /** What somebody was told of last, when, and what was funded by then. */
  toldState: NotifiedBudgetState | null;
  toldAt: string | null;
  toldFundedVolume: number | null;
}

export type BudgetRow = Selectable<BudgetTable>;

/** Who reads the budgets of an install, one after the other, and until when nobody does. */
interface BudgetReaderTable {
  install: string;
  leaseToken: string | null;
  leasedUntil: string | null;
  restUntil: string | null;
  attempts: Generated<number>;
  failure: string | null;
}
