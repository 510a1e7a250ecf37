/** How much of a contract's funding is used up (spec: platform-api.md section 4). */

export const budgetStates = ['ok', 'low', 'depleted', 'unknown'] as const;

/** `unknown` stands for any state that the marketplace introduced after this version. */
export type BudgetState = (typeof budgetStates)[number];

/** The states that a person can be notified of. */
export type NotifiedBudgetState = Exclude<BudgetState, 'unknown'>;
