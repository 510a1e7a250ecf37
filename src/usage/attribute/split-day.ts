import { type Counts, countNames, type Moment } from '../../domain/usage.ts';
import type { ContractCandidate } from './candidate.ts';

/** What one contract has of what an observation tells. */
export interface WorkShare {
  candidate: ContractCandidate;
  counts: Counts;
}

/**
 * Gives each piece of a day's work to the contract that was under way at its instant. What was saved
 * late belongs to the one that had ended, until the next began. A task counts once for each contract
 * that a piece of it was done for, as it does once for each day.
 *
 * @param succession contracts that follow each other, in their order
 * @returns null where the pieces that are known do not come to what is told of the day
 */
export function splitDay(
  counts: Counts,
  succession: readonly ContractCandidate[],
  moments: readonly Moment[],
): WorkShare[] | null {
  const whole = sumOf(moments, counts);
  const isWhole = countNames.every((name) => (whole[name] ?? 0) === (counts[name] ?? 0));
  if (!isWhole || moments.some(({ at }) => at === null)) return null;
  const byContract = Map.groupBy(moments, ({ at }) =>
    succession.findLast(({ startsAt }, index) => index === 0 || Date.parse(startsAt ?? '') <= Date.parse(at ?? '')),
  );
  return succession.map((candidate) => ({
    candidate,
    counts: sumOf(byContract.get(candidate) ?? [], counts),
  }));
}

/** Of what is counted at all, whoever has none has zero: they may have had some before. */
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
