import { isByOperator, isExplicit, type RemovalCause } from './standing.ts';

/**
 * The brake on removals: one regime for every path that evidence can come by, per install, over a
 * rolling 24 hours (design section 2). It errs on the side of keeping people in: what is beyond it
 * is held, whole, until an operator decides.
 */

export interface DueRemoval {
  membershipId: number;
  generation: number;
  cause: RemovalCause;
  /** Nobody who was there before us is ever taken out: that passes without being counted. */
  isOurs: boolean;
  /** Whether an operator has let it pass before. */
  isApproved?: boolean;
  /** Whether the tool could take the person back if the removal was a mistake. */
  canReturn: boolean;
}

/**
 * On what grounds a removal may be executed. `delivered`: the marketplace said so, which is exempt up to a
 * rate; `braked`: within what the brake allows; `approved`: an operator said so; `not_ours`: nothing
 * will be removed.
 */
export type Clearance = 'delivered' | 'braked' | 'approved' | 'not_ours';

/** What became of removals that were held. */
export const planStates = ['open', 'approved', 'rejected'] as const;

export type PlanState = (typeof planStates)[number];

export interface BrakeLimits {
  /** Removals per install in 24 hours, and delivered ends in 10 minutes. */
  max: number;
  maxFraction: number;
}

/** What has happened to the install's memberships so far. */
export interface BrakeCounts {
  /** Memberships that are in a tool since an hour ago or longer, those that are due included. */
  held: number;
  /** Those of them that were removed in the window. */
  removed: number;
  /** How many the brake has let pass in the window. */
  braked: number;
  /** Delivered ends that were let pass in the last 10 minutes. */
  delivered: number;
  /** What waits in plans that nobody has decided yet. */
  waiting: number;
}

export interface BrakeDecision {
  cleared: { removal: DueRemoval; clearance: Clearance }[];
  held: DueRemoval[];
  /** On which grounds too much was asked for: what passed on them and was not begun is held too. */
  exceeded: Clearance[];
}

export const brakeWindowMs = 24 * 3_600_000;
export const deliveredWindowMs = 10 * 60_000;
/** Who came in later than that does not raise how many may go: else hiring would let more be removed. */
export const countedAfterMs = 3_600_000;

export function brakeAllowance({ max, maxFraction }: BrakeLimits, people: number): number {
  return Math.min(max, Math.max(1, shareOf(maxFraction, people)));
}

/** Rounded down, of the fraction as it is written: 0.7 of 90 is 63, and by floating point 62.99…. */
function shareOf(fraction: number, people: number): number {
  const [whole = '', decimals = ''] = String(fraction).split('.');
  // So small that it stands with an exponent.
  if (!/^\d*$/.test(whole + decimals)) return Math.floor(fraction * people);
  return Number((BigInt(whole + decimals) * BigInt(people)) / 10n ** BigInt(decimals.length));
}

export function applyBrake(due: readonly DueRemoval[], counts: BrakeCounts, limits: BrakeLimits): BrakeDecision {
  const free = due.filter((one) => !one.isOurs);
  const isApproved = (one: DueRemoval) => isByOperator(one.cause) || one.isApproved === true;
  const approved = due.filter((one) => one.isOurs && isApproved(one));
  const rest = due.filter((one) => one.isOurs && !isApproved(one));
  const delivered = rest.filter(({ cause }) => cause === 'contract_ended');
  const isExempt = delivered.length + counts.delivered <= limits.max;
  const counted = isExempt ? rest.filter(({ cause }) => cause !== 'contract_ended') : rest;
  const final = counted.filter((one) => !one.canReturn && !isExplicit(one.cause));
  const weighed = counted.filter((one) => one.canReturn || isExplicit(one.cause));

  // A burst of delivered ends counts as what it is once it is no longer exempt.
  const used = counts.braked + counts.waiting + (isExempt ? 0 : counts.delivered);
  const allowed = brakeAllowance(limits, counts.held + counts.removed);
  const passes = used + weighed.length <= allowed;
  return {
    cleared: [
      ...toCleared(free, 'not_ours'),
      ...toCleared(approved, 'approved'),
      ...toCleared(isExempt ? delivered : [], 'delivered'),
      ...toCleared(passes ? weighed : [], 'braked'),
    ],
    held: [...final, ...(passes ? [] : weighed)],
    exceeded: passes ? [] : ['braked', ...(isExempt ? [] : (['delivered'] as const))],
  };
}

function toCleared(removals: DueRemoval[], clearance: Clearance): BrakeDecision['cleared'] {
  return removals.map((removal) => ({ removal, clearance }));
}
