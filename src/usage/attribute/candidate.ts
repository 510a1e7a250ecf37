import type { ContractKey } from '../../domain/evidence.ts';
import { statusOfContract } from '../../domain/evidence-status.ts';
import type { Day, Observation, WorkedOn } from '../../domain/usage.ts';
import { dayIn } from '../../lib/days.ts';
import type { Engagement } from '../read/contract-source-store.ts';

/** A contract that a trainer's work may be of. */
export interface ContractCandidate extends ContractKey {
  /** The time zone in which its days are counted. */
  timeZone: string;
  /** Null where it is not known; then no day is excluded. */
  firstDay: Day | null;
  /** Null while the contract goes on. */
  lastDay: Day | null;
  /** When it began and ended; null where only the day is known, or not even that. */
  startsAt: string | null;
  endsAt: string | null;
}

/** The contracts that ran on a day, or on a part of it. */
export function runningOn(candidates: readonly ContractCandidate[], day: Day): ContractCandidate[] {
  return candidates.filter(
    ({ firstDay, lastDay }) => (firstDay === null || firstDay <= day) && (lastDay === null || day <= lastDay),
  );
}

/** @param at an instant on a day on which the contract ran */
export function isRunningAt({ startsAt, endsAt }: ContractCandidate, at: string): boolean {
  const instant = Date.parse(at);
  const hasBegun = startsAt === null || Date.parse(startsAt) <= instant;
  return hasBegun && (endsAt === null || instant <= Date.parse(endsAt));
}

/** Whether the contract began or ended within the day, so that the instants of the work decide. */
export function isCutOn({ firstDay, lastDay, startsAt, endsAt }: ContractCandidate, day: Day): boolean {
  return (firstDay === day && startsAt !== null) || (lastDay === day && endsAt !== null);
}

/** Where an engagement's work is done, and in which time zone its days are counted. */
export interface ScopeInZone {
  scope: { tool: string; scope: string } | undefined;
  timeZone: string;
}

/** Lists the contracts of each trainer by what was worked on. A link that is gone still says where that was. Pure. */
export function findCandidates(
  engagements: readonly Engagement[],
  scopeOf: (engagement: Engagement) => ScopeInZone,
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
      // Two links of one contract to one scope are one contract.
      const known = byWork.get(key) ?? new Map<string, ContractCandidate>();
      byWork.set(key, known.set(JSON.stringify([install, contractId]), candidate));
    }
  }
  return (observation) => [...(byWork.get(keyOf(observation))?.values() ?? [])];
}

function keyOf({ workedOn, trainerId }: Pick<Observation, 'workedOn' | 'trainerId'>): string {
  switch (workedOn.by) {
    case 'scope':
      return JSON.stringify([workedOn.by, workedOn.tool, workedOn.scope, trainerId]);
    case 'project':
      return JSON.stringify([workedOn.by, workedOn.install, workedOn.externalProjectId, trainerId]);
    case 'contract':
      return JSON.stringify([workedOn.by, workedOn.install, workedOn.contractId, trainerId]);
  }
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

/** A date without a time was stored as the beginning of that day in UTC: the instant is not known. */
function isDay(instant: string | null): boolean {
  return instant?.endsWith('T00:00:00.000Z') ?? false;
}

/** The event of an end is raised a little later than the end it reports. */
const longestRaiseMs = 10 * 60_000;

/** A planned end is no end: work may go on past it until the contract has ended. */
function endOf(contract: Engagement): string | null {
  if (statusOfContract(contract) !== 'ended') return null;
  const { endDate, endedEventAt, endedByOperatorAt, endedReadAt, activeReadAt } = contract;
  const raiseMs = Date.parse(endedEventAt ?? '') - Date.parse(endDate ?? '');
  const isAnnounced = raiseMs >= 0 && raiseMs <= longestRaiseMs && !isDay(endDate);
  const endedAt = isAnnounced ? endDate : (endedEventAt ?? endDate);
  // The last reading that listed it active stays the same. Each later reading lists it ended.
  return endedAt ?? endedByOperatorAt ?? activeReadAt ?? endedReadAt;
}
