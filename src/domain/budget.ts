import type { Instant } from './evidence.ts';

/** How much of a contract's funding is used up (spec: platform-api.md section 4). */

export const budgetStates = ['ok', 'low', 'depleted', 'unknown'] as const;

/** `unknown` is any state that the marketplace introduced after this version. */
export type BudgetState = (typeof budgetStates)[number];

/** The states that a person can be notified of. */
export type NotifiedBudgetState = Exclude<BudgetState, 'unknown'>;

/** How fast a contract uses up its budget. */
export interface BudgetPace {
  /** The part of the funded volume that is used: 0 to 1. */
  consumedFraction: number | null;
  /** What the marketplace has counted on the contract so far, in the unit of its payment. */
  consumed: number | null;
  /** What was reported for the days of the last week, in the same unit. */
  lately: number;
}

export const paceDays = 7;
const dayMs = 86_400_000;

/**
 * When the budget is used up if the work goes on as in the last week. Pure.
 *
 * @returns null if it never is, or if nobody knows; now if it is already used up
 */
export function runsOutAt({ consumedFraction, consumed, lately }: BudgetPace, now: Date): Instant | null {
  if (consumedFraction === null) return null;
  if (consumedFraction >= 1) return now.toISOString();
  // The marketplace counts the volume in a unit of its own, such as hours, so only the used part is known in ours.
  if (consumedFraction <= 0 || consumed === null || consumed <= 0 || lately <= 0) return null;
  const left = (consumed / consumedFraction) * (1 - consumedFraction);
  const days = (left / lately) * paceDays;
  const at = now.getTime() + days * dayMs;
  return at > longestMs ? null : new Date(at).toISOString();
}

/** Later instants do not sort as texts. */
const longestMs = Date.parse('9999-12-31T23:59:59.999Z');
