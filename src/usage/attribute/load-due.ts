import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Day, Moment, Sighting } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import { chunksOf } from '../../lib/chunks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ContractSourceStore } from '../read/contract-source-store.ts';
import type { PlaceOf } from '../read/find-places.ts';
import { listTrainers } from '../read/list-trainers.ts';
import { firstReadDay } from '../read/look-back.ts';
import type { MomentStore } from '../read/moment-store.ts';
import type { SightingSource } from '../read/sighting-store.ts';
import { type Attributed, type Attribution, attributeWork, workKey } from './attribute-work.ts';
import type { DecisionStore } from './decision-store.ts';
import { findCandidates } from './find-candidates.ts';
import { isSplit } from './share-work.ts';

export interface DueDeps {
  sources: ContractSourceStore;
  /** The tools first, then whatever else tells of work. */
  sightings: readonly SightingSource[];
  decisions: DecisionStore;
  moments: MomentStore;
  ledger: {
    /** The first day that was never sent for the last time, from a day on. */
    oldestOpen(from: Day): Promise<Day | null>;
  };
  placeOf: PlaceOf;
  timeZoneOf(externalProjectId: string | null): string;
  lookbackMs: number;
  clock: Clock;
}

/** What is due is loaded anew for some people at a time: everybody's would not fit into memory. */
export interface DueLoader {
  firstDay: Day;
  /** What is due of some people's work by what was seen until now, and what is held of it. */
  load(trainerIds: readonly string[]): Promise<Attributed>;
  /** Some of those of whom any work was seen, in an order that stays; none after the last. */
  people(after?: string): Promise<string[]>;
}

/** How far back a day is remembered that was never sent for the last time. */
const longestOpenDays = 90;
/** So few that what they did is read and judged within some milliseconds. */
const peopleAtOnce = 25;

/** @param options what is to be said of each day beside its counts */
export async function openDue(deps: DueDeps, options: Pick<Attribution, 'keepsSightings'> = {}): Promise<DueLoader> {
  const { sources, sightings, decisions, ledger, placeOf, clock, timeZoneOf } = deps;
  const decided = await decisions.list();
  const linkBy = new Map((await sources.links()).map((link) => [linkKey(link), link]));
  const today = clock.now().toISOString().slice(0, 10);
  const oldest = await ledger.oldestOpen(addDays(today, -longestOpenDays));
  const firstRead = firstReadDay(deps);
  const firstDay = oldest !== null && oldest < firstRead ? oldest : firstRead;

  async function loadSome(trainerIds: readonly string[]): Promise<Attributed> {
    const engagements = await sources.engagements({ trainerIds });
    const links = new Set(engagements.flatMap((one) => linkBy.get(linkKey(one)) ?? []));
    const candidatesOf = findCandidates(engagements, [...links], placeOf, timeZoneOf);
    const seen: Sighting[] = [];
    for (const source of sightings) {
      for (const one of await source.list(firstDay, trainerIds)) seen.push(one);
    }
    const known = { candidatesOf, decisions: decided, ...options };
    const momentsOf = await loadMoments(seen, known, deps.moments);
    return attributeWork(seen, { ...known, momentsOf });
  }

  return {
    firstDay,
    people: (after) => listTrainers(sightings, { firstDay, after, limit: peopleAtOnce }),

    async load(trainerIds) {
      const all: Attributed = { due: [], held: [] };
      for (const people of chunksOf(trainerIds, peopleAtOnce)) {
        const { due, held } = await loadSome(people);
        for (const one of due) all.due.push(one);
        for (const one of held) all.held.push(one);
        // The thread has more to do than this.
        await nextTurn();
      }
      return all;
    },
  };
}

/** Of everybody whose work was seen. */
export async function* listPeople(due: DueLoader): AsyncGenerator<string[]> {
  for (let people = await due.people(); people.length > 0; ) {
    yield people;
    people = await due.people(people.at(-1));
  }
}

function linkKey({ install, linkId }: { install: string; linkId: string }): string {
  return JSON.stringify([install, linkId]);
}

/** Of the days alone that more than one contract has a part of: there are few. */
async function loadMoments(
  sightings: readonly Sighting[],
  { candidatesOf, decisions }: Omit<Attribution, 'momentsOf'>,
  moments: MomentStore,
): Promise<Attribution['momentsOf']> {
  const loaded = new Map<Sighting, Moment[]>();
  for (const sighting of sightings) {
    const isOpen = decisions.get(workKey(sighting)) === undefined;
    if (isOpen && isSplit(sighting, candidatesOf(sighting))) loaded.set(sighting, await moments.momentsOf(sighting));
  }
  return (sighting) => loaded.get(sighting) ?? [];
}
