import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfContract } from '../../domain/evidence-status.ts';
import type { Day, Observation, WorkedOn } from '../../domain/usage.ts';
import { dayIn } from '../../lib/day-in.ts';
import type { Engagement } from '../read/contract-source-store.ts';
import type { ScopeOf } from '../read/find-scopes.ts';
import type { Attribution } from './attribute-work.ts';
import type { ContractCandidate } from './candidate.ts';

/**
 * Lists the contracts of each trainer by what was worked on, to be asked for every observation. A link that is gone
 * still says where the work was done. Pure.
 *
 * @param timeZoneOf the zone of a project
 */
export function findCandidates(
  engagements: readonly Engagement[],
  links: readonly LinkEvidence[],
  scopeOf: ScopeOf,
  timeZoneOf: (externalProjectId: string | null) => string,
): Attribution['candidatesOf'] {
  const byWork = new Map<string, Map<string, ContractCandidate>>();
  const linkBy = new Map(links.map((link) => [JSON.stringify([link.install, link.linkId]), link]));
  for (const engagement of engagements) {
    const { install, contractId, trainerId, linkId } = engagement;
    const link = linkBy.get(JSON.stringify([install, linkId]));
    if (link === undefined) continue;
    const { externalProjectId } = link;
    const candidate = toCandidate(engagement, timeZoneOf(externalProjectId));
    const all: WorkedOn[] = [{ by: 'contract', install, contractId }];
    if (externalProjectId !== null) all.push({ by: 'project', install, externalProjectId });
    const at = scopeOf(link);
    if (at !== undefined) all.push({ by: 'scope', tool: at.tool, scope: at.scope });
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
  return endedAt ?? endedByOperatorAt ?? endedReadAt ?? activeReadAt;
}
