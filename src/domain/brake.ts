import { isByOperator, isExplicit, type RemovalCause } from './standing.ts';

/**
 * The brake on removals: one rule for all evidence of an install, over a rolling 24 hours (docs/rules.md, Removing). In doubt
 * it keeps people in: if removals exceed the limit, all of them are held until an operator decides. A removal that cannot be
 * undone is always held, unless it follows an explicit end.
 */

export interface DueRemoval {
  membershipId: number;
  generation: number;
  cause: RemovalCause;
  /** False for a member who was in before: nobody is removed, so it passes and is not counted. */
  isOurs: boolean;
  /** Whether an operator has already approved this removal. */
  isApproved?: boolean;
  /** Whether the tool could take the trainer back if the removal was a mistake. */
  canReturn: boolean;
}

/**
 * Why a removal may be executed. `delivered`: the marketplace sent the end, which is exempt from the brake up to a rate.
 * `braked`: it is within the limit of the brake. `approved`: an operator decided. `not_ours`: nobody will be removed.
 */
export type Clearance = 'delivered' | 'braked' | 'approved' | 'not_ours';

export const planStates = ['open', 'approved', 'rejected'] as const;

export type PlanState = (typeof planStates)[number];

export interface BrakeLimits {
  /** The limit of removals per install in 24 hours, and of delivered ends in 10 minutes. */
  max: number;
  maxFraction: number;
}

export interface BrakeCounts {
  /** Memberships that have been in a tool for an hour or longer, including those that are due. */
  held: number;
  /** Such memberships that were removed in the window. */
  removed: number;
  /** How many removals the brake cleared in the window. */
  braked: number;
  /** Delivered ends that were cleared in the last 10 minutes. */
  delivered: number;
  /** Removals in plans that are still open. */
  waiting: number;
}

export interface BrakeDecision {
  cleared: { removal: DueRemoval; clearance: Clearance }[];
  held: DueRemoval[];
  /** The clearances whose limit is exceeded. Removals that were cleared with them and have not started are held too. */
  exceeded: Clearance[];
}

export const brakeWindowMs = 24 * 3_600_000;
export const deliveredWindowMs = 10 * 60_000;
/** Younger memberships do not raise the limit, because hiring must not allow more removals. */
export const countedAfterMs = 3_600_000;

export function brakeAllowance({ max, maxFraction }: BrakeLimits, people: number): number {
  return Math.min(max, Math.max(1, shareOf(maxFraction, people)));
}

/** Rounds the decimal fraction down exactly: 0.7 of 90 is 63, but floating point gives 62.99…. */
function shareOf(fraction: number, people: number): number {
  const [whole = '', decimals = ''] = String(fraction).split('.');
  // JavaScript writes a very small fraction with an exponent.
  if (!/^\d*$/.test(whole + decimals)) return Math.floor(fraction * people);
  return Number((BigInt(whole + decimals) * BigInt(people)) / 10n ** BigInt(decimals.length));
}

export const nothingCounted: BrakeCounts = { held: 0, removed: 0, braked: 0, delivered: 0, waiting: 0 };

interface SortedRemovals {
  free: DueRemoval[];
  approved: DueRemoval[];
  /** Whether delivered ends pass, because there are few. */
  isExempt: boolean;
  exempt: DueRemoval[];
  /** Removals about which the counts of the install decide. */
  counted: DueRemoval[];
}

function sortRemovals(due: readonly DueRemoval[], delivered: number, { max }: BrakeLimits): SortedRemovals {
  const isApproved = (one: DueRemoval) => isByOperator(one.cause) || one.isApproved === true;
  const rest = due.filter((one) => one.isOurs && !isApproved(one));
  const ends = rest.filter(({ cause }) => cause === 'contract_ended');
  const isExempt = ends.length + delivered <= max;
  return {
    free: due.filter((one) => !one.isOurs),
    approved: due.filter((one) => one.isOurs && isApproved(one)),
    isExempt,
    exempt: isExempt ? ends : [],
    counted: isExempt ? rest.filter(({ cause }) => cause !== 'contract_ended') : rest,
  };
}

/**
 * Whether any of these removals depends on `BrakeCounts` other than `delivered`. Counting is expensive, and mostly none does.
 *
 * @param delivered as in `BrakeCounts`
 */
export function dependsOnCounts(due: readonly DueRemoval[], delivered: number, limits: BrakeLimits): boolean {
  return sortRemovals(due, delivered, limits).counted.length > 0;
}

export function applyBrake(due: readonly DueRemoval[], counts: BrakeCounts, limits: BrakeLimits): BrakeDecision {
  const { free, approved, isExempt, exempt, counted } = sortRemovals(due, counts.delivered, limits);
  const final = counted.filter((one) => !one.canReturn && !isExplicit(one.cause));
  const weighed = counted.filter((one) => one.canReturn || isExplicit(one.cause));

  // Once a burst of delivered ends is no longer exempt, all of them count.
  const used = counts.braked + counts.waiting + (isExempt ? 0 : counts.delivered);
  const allowed = brakeAllowance(limits, counts.held + counts.removed);
  const passes = used + weighed.length <= allowed;
  return {
    cleared: [
      ...toCleared(free, 'not_ours'),
      ...toCleared(approved, 'approved'),
      ...toCleared(exempt, 'delivered'),
      ...toCleared(passes ? weighed : [], 'braked'),
    ],
    held: [...final, ...(passes ? [] : weighed)],
    exceeded: passes ? [] : ['braked', ...(isExempt ? [] : (['delivered'] as const))],
  };
}

function toCleared(removals: DueRemoval[], clearance: Clearance): BrakeDecision['cleared'] {
  return removals.map((removal) => ({ removal, clearance }));
}

export type PlanItemOutcome = 'approved' | 'rejected' | 'stale';
