import { type Counts, countNames, type Moment } from '../../domain/usage.ts';
import type { ContractCandidate } from './candidate.ts';

/** The part of an observation that one contract gets. */
export interface WorkShare {
  candidate: ContractCandidate;
  counts: Counts;
}

/**
 * Gives each item of a day's work to the contract that was active at its instant. Work that was saved late goes to
 * the contract that had ended, until the next one began. A task counts once for each contract that an item of it was
 * done for, as it counts once for each day.
 *
 * @param succession contracts that follow each other, in their order
 * @returns null where the items do not sum up to the observation
 */
export function splitDay(
  counts: Counts,
  succession: readonly ContractCandidate[],
  moments: readonly Moment[],
): WorkShare[] | null {
  const whole = sumOf(moments, counts);
  const isWhole = countNames.every((name) => (whole[name] ?? 0) === (counts[name] ?? 0));
  if (!isWhole) return null;
  const byContract = Map.groupBy(moments, ({ at }) =>
    succession.findLast(({ startsAt }, index) => index === 0 || Date.parse(startsAt ?? '') <= Date.parse(at)),
  );
  return succession.map((candidate) => ({
    candidate,
    counts: sumOf(byContract.get(candidate) ?? [], counts),
  }));
}

/** A count that any contract has is zero for the others: they may have had some before. */
function sumOf(moments: readonly Moment[], { seconds, labels, tasks }: Counts): Counts {
  const taskIds = moments.flatMap(({ taskId }) => taskId ?? []);
  return {
    seconds: seconds === null ? null : sum(moments.map((one) => one.seconds)),
    labels: labels === null ? null : sum(moments.map((one) => one.labels)),
    tasks: tasks === null ? null : new Set(taskIds).size,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
