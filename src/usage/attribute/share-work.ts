import { type Counts, countNames, type Moment, type Observation } from '../../domain/usage.ts';
import { type ContractCandidate, runningOn, successionOn } from './candidate.ts';
import { splitDay, type WorkShare } from './split-day.ts';

/** Why work is not reported until an operator decides. */
export type HeldReason =
  | 'no_contract'
  | 'before_start'
  | 'after_end'
  | 'several_contracts'
  /** The contracts follow each other on that day, and not all of the work has an instant. */
  | 'unknown_instants'
  | 'two_sources'
  | 'over_a_day'
  | 'negative';

const secondsOfDay = 86_400;

/** Pure: which contract gets which part of an observation, or why that is not known. */
export function shareWork(
  observation: Observation,
  candidates: readonly ContractCandidate[],
  momentsOf: (observation: Observation) => readonly Moment[],
): WorkShare[] | HeldReason {
  const { day, counts } = observation;
  if (isNegative(counts)) return 'negative';
  const mayHave = runningOn(candidates, day, { withGrace: true });
  if (mayHave.length === 0) return reasonOfNone(day, candidates);
  const succession = successionOf(day, candidates);
  if (succession === null) return 'several_contracts';
  const [only, second] = succession;
  if (only !== undefined && second === undefined) return [{ candidate: only, counts }];
  if (isOverADay(counts)) return 'over_a_day';
  const moments = momentsOf(observation);
  const shares = observation.isTorn === true ? null : splitDay(counts, succession, moments);
  return shares ?? shareWhole(observation, candidates, moments) ?? reasonOfWhole(observation, moments);
}

export function isNegative(counts: Counts): boolean {
  return countNames.some((name) => (counts[name] ?? 0) < 0);
}

export function isOverADay({ seconds }: Counts): boolean {
  return (seconds ?? 0) > secondsOfDay;
}

/** Whether the items decide which contract gets the work. */
export function isSplit({ day }: Observation, candidates: readonly ContractCandidate[]): boolean {
  return candidates.length > 1 && (successionOf(day, candidates)?.length ?? 0) > 1;
}

/** Adds the contracts whose work may have been saved late, unless that is ambiguous. */
function successionOf(day: string, candidates: readonly ContractCandidate[]): ContractCandidate[] | null {
  const withLate = successionOn(runningOn(candidates, day, { withGrace: true }), day);
  if (withLate !== null) return withLate;
  const active = runningOn(candidates, day, { withGrace: false });
  return active.length === 0 ? null : successionOn(active, day);
}

/**
 * Without items, late saving cannot be seen: the day goes to the contract that runs. The exception is work that
 * another contract had before a removal: it keeps what it had.
 */
function shareWhole(
  { day, counts, isFrozen }: Observation,
  candidates: readonly ContractCandidate[],
  moments: readonly Moment[],
): WorkShare[] | null {
  const [only, second] = runningOn(candidates, day, { withGrace: false });
  if (moments.length > 0 || isFrozen === true || only === undefined || second !== undefined) return null;
  return [{ candidate: only, counts }];
}

function reasonOfWhole({ isTorn }: Observation, moments: readonly Moment[]): HeldReason {
  return isTorn === true || moments.length > 0 ? 'unknown_instants' : 'several_contracts';
}

function reasonOfNone(day: string, candidates: readonly ContractCandidate[]): HeldReason {
  if (candidates.length === 0) return 'no_contract';
  const isEarly = candidates.some(({ firstDay }) => firstDay !== null && day < firstDay);
  return isEarly ? 'before_start' : 'after_end';
}
