import type { Generated, Selectable } from 'kysely';
import type { Absences } from '../domain/absences.ts';
import type { BudgetState, NotifiedBudgetState } from '../domain/budget.ts';
import type { BudgetFacts } from '../domain/notice.ts';

/** The tables of budgets and payments. They name no person; those of budgets are kept for good. */
export interface BudgetTables {
  budget: BudgetTable;
  budgetReader: BudgetReaderTable;
  pendingPayment: PendingPaymentTable;
  paymentReader: PaymentReaderTable;
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

/** A payment that waits for a person at the marketplace. The row goes when it no longer waits. */
interface PendingPaymentTable {
  install: string;
  paymentId: string;
  jobId: string | null;
  amountUsd: number | null;
  /** Where a person sees to it. */
  url: string;
  firstSeenAt: string;
  /** When the last reading began that listed it. */
  seenAt: string;
  /** When the readings began that did not list it since. */
  absences: Absences;
}

export type PendingPaymentRow = Selectable<PendingPaymentTable>;

/** The lease for reading what waits for money at an install. */
interface PaymentReaderTable {
  install: string;
  nextReadAt: string;
  /** How many events have asked for a reading since the last. */
  asks: Generated<number>;
  leasedUntil: string | null;
  /** How many readings in a row have failed. */
  attempts: Generated<number>;
  failure: string | null;
}
