import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Context } from '../../context.ts';
import type { LinkEvidence } from '../../domain/evidence.ts';
import { statusOfContract } from '../../domain/evidence-status.ts';
import type { Day, Moment, Observation, WorkedOn } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { addDays } from '../../lib/add-days.ts';
import { chunksOf } from '../../lib/chunks.ts';
import { dayIn } from '../../lib/day-in.ts';
import { createImportObservations } from '../import/import-store.ts';
import { type Engagement, listEngagements, listWorkLinks } from '../read/contract-source-store.ts';
import { scopeOfLink, timeZoneOf } from '../read/find-scopes.ts';
import { firstReadDay } from '../read/look-back.ts';
import { listMoments } from '../read/moment-store.ts';
import { createToolObservations, listTrainers } from '../read/observation-store.ts';
import { type Attributed, type Attribution, attributeWork, workKey } from './attribute-work.ts';
import type { ContractCandidate } from './candidate.ts';
import { listWorkDecisions } from './decision-store.ts';
import { oldestOpenDay } from './open-day-store.ts';
import { isSplit } from './share-work.ts';

/** Loads what is due for some trainers at a time: everything at once would not fit into memory. */
export interface DueLoader {
  firstDay: Day;
  /** What is due and what is held for these trainers, by what was seen until now. */
  load(trainerIds: readonly string[]): Promise<Attributed>;
  /** The next trainers whose work was seen, in a stable order; empty after the last. */
  people(after?: string): Promise<string[]>;
}

/** How far back a day is remembered that was never sent for the last time. */
const longestOpenDays = 90;
/** So few trainers that their work is read and judged within milliseconds. */
const peopleAtOnce = 25;

/** @param options what each day is to say besides its counts */
export async function openDue(ctx: Context, options: Pick<Attribution, 'keepsObservations'> = {}): Promise<DueLoader> {
  const scopeOf = (link: LinkEvidence) => scopeOfLink(ctx, link);
  const zoneOf = (externalProjectId: string | null) => timeZoneOf(ctx, externalProjectId);
  const observations = [createToolObservations(ctx), createImportObservations(ctx)];
  const decided = await listWorkDecisions(ctx);
  const linkBy = new Map((await listWorkLinks(ctx)).map((link) => [linkKey(link), link]));
  const today = ctx.clock.now().toISOString().slice(0, 10);
  const oldest = await oldestOpenDay(ctx, addDays(today, -longestOpenDays));
  const firstRead = firstReadDay(ctx);
  const firstDay = oldest !== null && oldest < firstRead ? oldest : firstRead;

  async function loadSome(trainerIds: readonly string[]): Promise<Attributed> {
    const engagements = await listEngagements(ctx, { trainerIds });
    const links = new Set(engagements.flatMap((one) => linkBy.get(linkKey(one)) ?? []));
    const candidatesOf = findCandidates(engagements, [...links], scopeOf, zoneOf);
    const seen: Observation[] = [];
    for (const source of observations) {
      for (const one of await source.list(firstDay, trainerIds)) seen.push(one);
    }
    const known = { candidatesOf, decisions: decided, ...options };
    const momentsOf = await loadMoments(ctx, seen, known);
    return attributeWork(seen, { ...known, momentsOf });
  }

  return {
    firstDay,
    people: (after) => listTrainers(observations, { firstDay, after, limit: peopleAtOnce }),

    async load(trainerIds) {
      const all: Attributed = { due: [], held: [] };
      for (const people of chunksOf(trainerIds, peopleAtOnce)) {
        const { due, held } = await loadSome(people);
        for (const one of due) all.due.push(one);
        for (const one of held) all.held.push(one);
        // Other work gets its turn on the thread.
        await nextTurn();
      }
      return all;
    },
  };
}

/** All trainers whose work was seen, some at a time. */
export async function* listPeople(due: DueLoader): AsyncGenerator<string[]> {
  for (let people = await due.people(); people.length > 0; ) {
    yield people;
    people = await due.people(people.at(-1));
  }
}

function linkKey({ install, linkId }: { install: string; linkId: string }): string {
  return JSON.stringify([install, linkId]);
}

/** Only of days that several contracts have a part of: these are few. */
async function loadMoments(
  ctx: Storage,
  observations: readonly Observation[],
  { candidatesOf, decisions }: Omit<Attribution, 'momentsOf'>,
): Promise<Attribution['momentsOf']> {
  const loaded = new Map<Observation, Moment[]>();
  for (const observation of observations) {
    const isOpen = decisions.get(workKey(observation)) === undefined;
    if (isOpen && isSplit(observation, candidatesOf(observation)))
      loaded.set(observation, await listMoments(ctx, observation));
  }
  return (observation) => loaded.get(observation) ?? [];
}

/**
 * Lists the contracts of each trainer by what was worked on, to be asked for every observation. A link that is gone
 * still says where the work was done. Pure.
 *
 * @param zoneOf the time zone of a project
 */
export function findCandidates(
  engagements: readonly Engagement[],
  links: readonly LinkEvidence[],
  scopeOf: (link: LinkEvidence) => { tool: string; scope: string } | undefined,
  zoneOf: (externalProjectId: string | null) => string,
): Attribution['candidatesOf'] {
  const byWork = new Map<string, Map<string, ContractCandidate>>();
  const linkBy = new Map(links.map((link) => [JSON.stringify([link.install, link.linkId]), link]));
  for (const engagement of engagements) {
    const { install, contractId, trainerId, linkId } = engagement;
    const link = linkBy.get(JSON.stringify([install, linkId]));
    if (link === undefined) continue;
    const { externalProjectId } = link;
    const candidate = toCandidate(engagement, zoneOf(externalProjectId));
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
