import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Day, Moment, Sighting } from '../../domain/usage.ts';
import { addDays } from '../../lib/add-days.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ContractSourceStore } from '../read/contract-source-store.ts';
import type { PlaceOf } from '../read/find-places.ts';
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

/** What is due is loaded anew for each contract, when nobody else can be sending it. */
export interface DueLoader {
  firstDay: Day;
  load(trainerIds?: readonly string[]): Promise<Attributed>;
}

/** How far back a day is remembered that was never sent for the last time. */
const longestOpenDays = 90;

/** Reads who was on which contract, once; then gives what is due by what was seen until now. */
export async function openDue(deps: DueDeps): Promise<DueLoader> {
  const { sources, sightings, decisions, ledger, placeOf, clock } = deps;
  const known: KnownOfWork = {
    candidatesOf: findCandidates(
      await sources.engagements(),
      await sources.links(),
      placeOf,
      deps.timeZoneOf,
    ),
    decisions: await decisions.list(),
  };
  const today = clock.now().toISOString().slice(0, 10);
  const oldest = await ledger.oldestOpen(addDays(today, -longestOpenDays));
  const firstRead = firstReadDay(deps);
  const firstDay = oldest !== null && oldest < firstRead ? oldest : firstRead;
  return {
    firstDay,
    async load(trainerIds) {
      const all: Sighting[] = [];
      for (const source of sightings) all.push(...(await source.list(firstDay, trainerIds)));
      return await attributeAll(all, known, deps.moments);
    },
  };
}

type KnownOfWork = Omit<Attribution, 'momentsOf'>;

const peopleAtOnce = 100;

/** Some people after the others, as nobody's work depends on another's: the thread has more to do. */
async function attributeAll(
  sightings: readonly Sighting[],
  known: KnownOfWork,
  moments: MomentStore,
): Promise<Attributed> {
  const byTrainer = [...Map.groupBy(sightings, ({ trainerId }) => trainerId).values()];
  const all: Attributed = { due: [], held: [] };
  for (let from = 0; from < byTrainer.length; from += peopleAtOnce) {
    const some = byTrainer.slice(from, from + peopleAtOnce).flat();
    const { due, held } = attributeWork(some, {
      ...known,
      momentsOf: await loadMoments(some, known, moments),
    });
    all.due.push(...due);
    all.held.push(...held);
    await nextTurn();
  }
  return all;
}

/** Of the days alone that more than one contract has a part of: there are few. */
async function loadMoments(
  sightings: readonly Sighting[],
  { candidatesOf, decisions }: KnownOfWork,
  moments: MomentStore,
): Promise<Attribution['momentsOf']> {
  const loaded = new Map<Sighting, Moment[]>();
  for (const sighting of sightings) {
    const isOpen = decisions.get(workKey(sighting)) === undefined;
    if (isOpen && isSplit(sighting, candidatesOf(sighting)))
      loaded.set(sighting, await moments.momentsOf(sighting));
  }
  return (sighting) => loaded.get(sighting) ?? [];
}
