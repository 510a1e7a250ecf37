import type { ContractKey } from '../../domain/evidence.ts';
import { statusOfContract } from '../../domain/evidence-status.ts';
import {
  type Counts,
  countNames,
  type Day,
  type HeldReason,
  isNothing,
  type Moment,
  type Observation,
  toCounts,
  type WorkedOn,
} from '../../domain/usage.ts';
import { dayIn } from '../../lib/days.ts';
import type { Engagement, ScopeKey } from '../read/scope-store.ts';

/** A contract that a trainer's work may be of. */
export interface ContractCandidate extends ContractKey {
  /** The time zone of its days. */
  timeZone: string;
  /** Null if unknown: then no day is too early. */
  firstDay: Day | null;
  /** Null while the contract goes on. */
  lastDay: Day | null;
  /** When it began and ended; null if the time of day is unknown. */
  startsAt: string | null;
  endsAt: string | null;
}

/** The contracts that ran on a day, or on a part of it. */
function runningOn(candidates: readonly ContractCandidate[], day: Day): ContractCandidate[] {
  return candidates.filter(
    ({ firstDay, lastDay }) => (firstDay === null || firstDay <= day) && (lastDay === null || day <= lastDay),
  );
}

/** @param at an instant on a day on which the contract ran */
function isRunningAt({ startsAt, endsAt }: ContractCandidate, at: string): boolean {
  const instant = Date.parse(at);
  const hasBegun = startsAt === null || Date.parse(startsAt) <= instant;
  return hasBegun && (endsAt === null || instant <= Date.parse(endsAt));
}

/** Whether the contract began or ended within the day, so that the instants of the work decide. */
function isCutOn({ firstDay, lastDay, startsAt, endsAt }: ContractCandidate, day: Day): boolean {
  return (firstDay === day && startsAt !== null) || (lastDay === day && endsAt !== null);
}

/**
 * Pure: finds the contracts that an observation may be of. Removed links count too.
 *
 * @param scopeOf where the work is done, and in which time zone its days are counted
 */
export function findCandidates(
  engagements: readonly Engagement[],
  scopeOf: (engagement: Engagement) => { scope: ScopeKey | undefined; timeZone: string },
): (observation: Pick<Observation, 'workedOn' | 'trainerId'>) => ContractCandidate[] {
  const byWork = new Map<string, Map<string, ContractCandidate>>();
  for (const engagement of engagements) {
    const { install, contractId, trainerId, externalProjectId } = engagement;
    const { scope, timeZone } = scopeOf(engagement);
    const candidate = toCandidate(engagement, timeZone);
    const all: WorkedOn[] = [{ by: 'contract', install, contractId }];
    if (externalProjectId !== null) all.push({ by: 'project', install, externalProjectId });
    if (scope !== undefined) all.push({ by: 'scope', tool: scope.tool, scope: scope.scope });
    for (const workedOn of all) {
      const key = keyOf({ workedOn, trainerId });
      // A contract may have two links to one scope.
      const known = byWork.get(key) ?? new Map<string, ContractCandidate>();
      byWork.set(key, known.set(JSON.stringify([install, contractId]), candidate));
    }
  }
  return (observation) => [...(byWork.get(keyOf(observation))?.values() ?? [])];
}

function keyOf({ workedOn, trainerId }: Pick<Observation, 'workedOn' | 'trainerId'>): string {
  return JSON.stringify([...Object.values(workedOn), trainerId]);
}

function toCandidate(contract: Engagement, timeZone: string): ContractCandidate {
  const { install, contractId, startDate } = contract;
  const endedAt = endOf(contract);
  const toDay = (instant: string): Day => dayIn(new Date(instant), timeZone);
  return {
    install,
    contractId,
    timeZone,
    firstDay: startDate && toDay(startDate),
    lastDay: endedAt && (isDay(endedAt) ? endedAt.slice(0, 10) : toDay(endedAt)),
    startsAt: isDay(startDate) ? null : startDate,
    endsAt: isDay(endedAt) ? null : endedAt,
  };
}

/** A date without a time is stored as midnight in UTC: the instant is unknown. */
function isDay(instant: string | null): boolean {
  return instant?.endsWith('T00:00:00.000Z') ?? false;
}

/** The event of an end is raised so much later at most. */
const longestRaiseMs = 10 * 60_000;

/** A planned end does not count: work may go on until the contract has ended. */
function endOf(contract: Engagement): string | null {
  if (statusOfContract(contract) !== 'ended') return null;
  const { endDate, endedEventAt, endedByOperatorAt, endedReadAt, activeReadAt } = contract;
  const raiseMs = Date.parse(endedEventAt ?? '') - Date.parse(endDate ?? '');
  const isAnnounced = raiseMs >= 0 && raiseMs <= longestRaiseMs && !isDay(endDate);
  const endedAt = isAnnounced ? endDate : (endedEventAt ?? endDate);
  // `endedReadAt` rises with each reading, and the last reading as active does not.
  return endedAt ?? endedByOperatorAt ?? activeReadAt ?? endedReadAt;
}

/** The part of an observation that one contract gets. */
export interface WorkShare {
  candidate: ContractCandidate;
  counts: Counts;
}

export interface SharedWork {
  shares: WorkShare[];
  /** What is held. */
  rest: { counts: Counts; reason: HeldReason } | null;
}

const secondsOfDay = 86_400;

/**
 * Pure: which contract gets which part of an observation. Work with an instant belongs to the contract that ran then,
 * work with only a day to the one contract that ran that day.
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

/** The contract gets everything without an instant before its start or after its end. */
function shareWithOne(counts: Counts, candidate: ContractCandidate, moments: readonly Moment[]): SharedWork {
  const { outside = [], inside = [] } = Object.groupBy(moments, ({ at }) =>
    isRunningAt(candidate, at) ? 'inside' : 'outside',
  );
  // A task belongs to the contract if any piece of it does.
  const tasks = new Set(inside.map(({ taskId }) => taskId));
  const sum = sumOf(
    outside.map((one) => (tasks.has(one.taskId) ? { ...one, taskId: null } : one)),
    counts,
  );
  const rest = toCounts((name) => (counts[name] === null ? null : Math.min(counts[name], sum[name] ?? 0)));
  const share = toCounts((name) => (counts[name] === null ? null : counts[name] - (rest[name] ?? 0)));
  return { shares: [{ candidate, counts: share }], rest: toRest(rest, outside, [candidate]) };
}

/** A task counts once for each contract with a piece of it, as it counts once for each day. */
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

/** A known count is zero for a contract without work: it may have had some before. */
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
