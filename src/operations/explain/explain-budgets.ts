import { findBudgets } from '../../budget/budget-store.ts';
import type { BudgetState, NotifiedBudgetState } from '../../domain/budget.ts';
import type { Storage } from '../../keys/storage.ts';

/** What is known of a contract's budget, since when, and the last notice of it. */
export interface ExplainedBudget {
  install: string;
  contractId: string;
  state: BudgetState | null;
  fundedVolume: number | null;
  consumedVolume: number | null;
  remainingVolume: number | null;
  consumedFraction: number | null;
  /** When the request of this answer began; null before the first answer. */
  askedAt: string | null;
  /** Null while the contract is not active. */
  nextReadAt: string | null;
  /** Why the last reading failed; null if it did not fail. */
  failure: string | null;
  lastNotice: { state: NotifiedBudgetState; at: string } | null;
}

/** One budget per install that has a contract of this id; empty where nothing is known. */
export async function explainBudgets(ctx: Storage, contractId: string): Promise<ExplainedBudget[]> {
  const rows = await findBudgets(ctx, contractId);
  return rows.map(({ notifiedState, notifiedAt, ...row }) => {
    const { install, state, fundedVolume, consumedVolume, remainingVolume } = row;
    const { consumedFraction, askedAt, nextReadAt, failure } = row;
    return {
      install,
      contractId,
      state,
      fundedVolume,
      consumedVolume,
      remainingVolume,
      consumedFraction,
      askedAt,
      nextReadAt,
      failure,
      lastNotice: notifiedState === null || notifiedAt === null ? null : { state: notifiedState, at: notifiedAt },
    };
  });
}
