/** How far what was funded of a contract is used up (spec: platform-api.md section 4). */

export const budgetStates = ['ok', 'low', 'depleted', 'unknown'] as const;

/** `unknown` is a word of the marketplace that came later than this. */
export type BudgetState = (typeof budgetStates)[number];

/** What somebody can be told of. */
export type NoticeState = Exclude<BudgetState, 'unknown'>;
