import {
  type Counts,
  countNames,
  type HeldReason,
  isNothing,
  type Moment,
  type Observation,
  toCounts,
} from '../../domain/usage.ts';
import { type ContractCandidate, isCutOn, isRunningAt, runningOn } from './candidate.ts';

/** The part of an observation that one contract gets. */
export interface WorkShare {
  candidate: ContractCandidate;
  counts: Counts;
}

export interface SharedWork {
  shares: WorkShare[];
  /** What no contract gets before an operator decides. */
  rest: { counts: Counts; reason: HeldReason } | null;
}

const secondsOfDay = 86_400;

/**
 * Pure: which contract gets which part of an observation. Work with an instant belongs to the contract that ran then.
 * Work with only a day belongs to the one contract that ran on that day.
 */
export function shareWork(
  observation: Observation,
  candidates: readonly ContractCandidate[],
  momentsOf: (observation: Observation) => readonly Moment[],
): SharedWork {
  const { day, counts } = observation;
  const hold = (reason: HeldReason): SharedWork => ({ shares: [], rest: { counts, reason } });
  if (isNegative(counts)) return hold('negative');
  const running = runningOn(candidates, day);
  const [only, second] = running;
  if (only === undefined) return hold(reasonOfNone(day, candidates));
  if (observation.isFirstTotal === true) return hold('first_total');
  const moments = needsMoments(observation, candidates) ? momentsOf(observation) : [];
  if (second === undefined) return shareWithOne(counts, only, moments);
  if (isOverADay(counts)) return hold('over_a_day');
  if (moments.length === 0 && !isNothing(counts)) return hold('several_contracts');
  const isWhole = countNames.every((name) => (sumOf(moments, counts)[name] ?? 0) === (counts[name] ?? 0));
  if (!isWhole || observation.isTorn === true) return hold('unknown_instants');
  return shareByInstants(counts, running, moments);
}

/** Whether the instants of the work decide which contract gets it. */
export function needsMoments({ day }: Pick<Observation, 'day'>, candidates: readonly ContractCandidate[]): boolean {
  const running = runningOn(candidates, day);
  return running.length > 1 || running.some((one) => isCutOn(one, day));
}

export function isNegative(counts: Counts): boolean {
  return countNames.some((name) => (counts[name] ?? 0) < 0);
}

export function isOverADay({ seconds }: Counts): boolean {
  return (seconds ?? 0) > secondsOfDay;
}

/** The contract gets everything but what has an instant before its start or after its end. */
function shareWithOne(counts: Counts, candidate: ContractCandidate, moments: readonly Moment[]): SharedWork {
  const { outside = [], inside = [] } = Object.groupBy(moments, ({ at }) =>
    isRunningAt(candidate, at) ? 'inside' : 'outside',
  );
  // A task is the contract's where any piece of it is.
  const tasks = new Set(inside.map(({ taskId }) => taskId));
  const sum = sumOf(
    outside.map((one) => (tasks.has(one.taskId) ? { ...one, taskId: null } : one)),
    counts,
  );
  const rest = toCounts((name) => (counts[name] === null ? null : Math.min(counts[name], sum[name] ?? 0)));
  const share = toCounts((name) => (counts[name] === null ? null : counts[name] - (rest[name] ?? 0)));
  return { shares: [{ candidate, counts: share }], rest: toRest(rest, outside, [candidate]) };
}

/** A task counts once for each contract that a piece of it was done for, as it counts once for each day. */
function shareByInstants(
  counts: Counts,
  running: readonly ContractCandidate[],
  moments: readonly Moment[],
): SharedWork {
  const ownersOf = ({ at }: Moment) => running.filter((one) => isRunningAt(one, at));
  const byOwner = Map.groupBy(moments, (moment) => {
    const [owner, other] = ownersOf(moment);
    return other === undefined ? owner : undefined;
  });
  const left = byOwner.get(undefined) ?? [];
  return {
    shares: running.map((candidate) => ({ candidate, counts: sumOf(byOwner.get(candidate) ?? [], counts) })),
    rest: toRest(sumOf(left, counts), left, running),
  };
}

function toRest(counts: Counts, moments: readonly Moment[], running: readonly ContractCandidate[]): SharedWork['rest'] {
  const [first] = moments;
  if (first === undefined || isNothing(counts)) return null;
  if (running.some((one) => isRunningAt(one, first.at))) return { counts, reason: 'several_contracts' };
  const isEarly = running.every(({ startsAt }) => startsAt !== null && Date.parse(first.at) < Date.parse(startsAt));
  return { counts, reason: isEarly ? 'before_start' : 'after_end' };
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

function reasonOfNone(day: string, candidates: readonly ContractCandidate[]): HeldReason {
  if (candidates.length === 0) return 'no_contract';
  const isEarly = candidates.some(({ firstDay }) => firstDay !== null && day < firstDay);
  return isEarly ? 'before_start' : 'after_end';
}
