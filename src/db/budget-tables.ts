import type { Generated, Selectable } from 'kysely';
import type { BudgetState, NotifiedBudgetState } from '../domain/budget.ts';
import type { BudgetFacts } from '../domain/notice.ts';

/** The tables of budgets. They have only ids and numbers, so they are kept for good. */
export interface BudgetTables {
  budget: BudgetTable;
  budgetReader: BudgetReaderTable;
}

interface BudgetTable extends BudgetFacts {
  install: string;
  contractId: string;
  /** Null until it is read. */
  state: BudgetState | null;
  /** When the first reading began that found it in this state. */
  stateSince: string | null;
  paymentType: string | null;
  consumedSeconds: number | null;
  consumedLabels: number | null;
  consumedTasks: number | null;
  lastUsageAt: string | null;
  /** When the request began that was answered with this. */
  askedAt: string | null;
  /** Null while the contract is not active. */
  nextReadAt: string | null;
  /** When it is used up at the pace of the week before it was last read; null where that is never, or not known. */
  runsOutAt: string | null;
  /** The latest `milestone.*` event for which a reading was made. */
  metEventAt: string | null;
  /** When the last request began, if its answer was that there is no such contract; otherwise null. */
  notFoundAt: string | null;
  attempts: Generated<number>;
  failure: string | null;
  /** The state of the last notice, when it was given, and the funded volume at that time. */
  notifiedState: NotifiedBudgetState | null;
  notifiedAt: string | null;
  notifiedFundedVolume: number | null;
}

export type BudgetRow = Selectable<BudgetTable>;

/** The lease for reading the budgets of an install, and until when none are read. */
interface BudgetReaderTable {
  install: string;
  leaseToken: string | null;
  leasedUntil: string | null;
  restUntil: string | null;
  attempts: Generated<number>;
  failure: string | null;
}
