import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Day, Moment, Observation } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import { chunksOf } from '../../lib/chunks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ContractSourceStore } from '../read/contract-source-store.ts';
import type { ScopeOf } from '../read/find-scopes.ts';
import { firstReadDay } from '../read/look-back.ts';
import type { MomentStore } from '../read/moment-store.ts';
import type { ObservationSource } from '../read/observation-store.ts';
import { listTrainers } from '../read/observation-store.ts';
import { type Attributed, type Attribution, attributeWork, workKey } from './attribute-work.ts';
import type { DecisionStore } from './decision-store.ts';
import { findCandidates } from './find-candidates.ts';
import { isSplit } from './share-work.ts';

export interface DueDeps {
  contractSources: ContractSourceStore;
  /** The tools first, then the other sources of work. */
  observations: readonly ObservationSource[];
  decisions: DecisionStore;
  moments: MomentStore;
  ledger: {
    /** The first day since a given day that was never sent for the last time. */
    oldestOpen(from: Day): Promise<Day | null>;
  };
  scopeOf: ScopeOf;
  timeZoneOf(externalProjectId: string | null): string;
  lookbackMs: number;
  clock: Clock;
}

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
export async function openDue(deps: DueDeps, options: Pick<Attribution, 'keepsObservations'> = {}): Promise<DueLoader> {
  const { contractSources, observations, decisions, ledger, scopeOf, clock, timeZoneOf } = deps;
  const decided = await decisions.list();
  const linkBy = new Map((await contractSources.links()).map((link) => [linkKey(link), link]));
  const today = clock.now().toISOString().slice(0, 10);
  const oldest = await ledger.oldestOpen(addDays(today, -longestOpenDays));
  const firstRead = firstReadDay(deps);
  const firstDay = oldest !== null && oldest < firstRead ? oldest : firstRead;

  async function loadSome(trainerIds: readonly string[]): Promise<Attributed> {
    const engagements = await contractSources.engagements({ trainerIds });
    const links = new Set(engagements.flatMap((one) => linkBy.get(linkKey(one)) ?? []));
    const candidatesOf = findCandidates(engagements, [...links], scopeOf, timeZoneOf);
    const seen: Observation[] = [];
    for (const source of observations) {
      for (const one of await source.list(firstDay, trainerIds)) seen.push(one);
    }
    const known = { candidatesOf, decisions: decided, ...options };
    const momentsOf = await loadMoments(seen, known, deps.moments);
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
  observations: readonly Observation[],
  { candidatesOf, decisions }: Omit<Attribution, 'momentsOf'>,
  moments: MomentStore,
): Promise<Attribution['momentsOf']> {
  const loaded = new Map<Observation, Moment[]>();
  for (const observation of observations) {
    const isOpen = decisions.get(workKey(observation)) === undefined;
    if (isOpen && isSplit(observation, candidatesOf(observation)))
      loaded.set(observation, await moments.momentsOf(observation));
  }
  return (observation) => loaded.get(observation) ?? [];
}
