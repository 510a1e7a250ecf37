import { setImmediate as nextTurn } from 'node:timers/promises';
import { jsonTexts } from '../../db/json-list.ts';
import type { Row } from '../../db/schema.ts';
import type { Day, Observation } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';

/** A source of observations: the tools, or the imports. */
export interface ObservationSource {
  /** All observations since a day: of these trainers, or of all. */
  list(firstDay: Day, trainerIds?: readonly string[]): Promise<Observation[]>;
  /** The trainers whose work it knows, sorted by bytes, page by page. */
  trainerIds(page: TrainerPage): Promise<string[]>;
}

export interface TrainerPage {
  /** Only trainers with work on this day or later. */
  firstDay: Day;
  /** The last trainer of the page before. */
  after?: string | undefined;
  limit: number;
}

/** The SQL that reads the observations of the tools for a report. It changes nothing. */
export function createToolObservations({ database }: Storage): ObservationSource {
  const { kysely } = database;
  return {
    async list(firstDay, trainerIds) {
      const days = kysely.selectFrom('usageDay').where('day', '>=', firstDay);
      if (trainerIds !== undefined) {
        const ofThem = days.selectAll().where('trainerId', 'in', jsonTexts(database, trainerIds));
        return (await ofThem.orderBy('day').execute()).map(toObservation);
      }
      const observations: Observation[] = [];
      // Day by day: one query for everything would block the thread for too long.
      for (const { day } of await days.select('day').distinct().orderBy('day').execute()) {
        const ofDay = kysely.selectFrom('usageDay').selectAll().where('day', '=', day).orderBy('trainerId');
        observations.push(...(await ofDay.execute()).map(toObservation));
        await nextTurn();
      }
      return observations;
    },

    async trainerIds({ firstDay, after, limit }) {
      let page = kysely.selectFrom('usageDay').where('day', '>=', firstDay);
      if (after !== undefined) page = page.where('trainerId', '>', after);
      const distinct = page.select('trainerId').distinct().orderBy('trainerId').limit(limit);
      return (await distinct.execute()).map(({ trainerId }) => trainerId);
    },
  };
}

function toObservation(row: Row<'usageDay'>): Observation {
  const { tool, scope, memberId, trainerId, day, seenAt, seconds, tasks, labels } = row;
  return {
    source: `tool:${tool}`,
    workedOn: { by: 'scope', tool, scope },
    trainerId,
    memberId,
    day,
    seenAt,
    counts: { seconds, tasks, labels },
    isFrozen: row.isFrozen,
    isTorn: row.isTorn,
  };
}

/** Merges the trainers of all sources into one page, sorted by bytes as in the databases, each trainer once. */
export async function listTrainers(sources: readonly ObservationSource[], page: TrainerPage): Promise<string[]> {
  const all = await Promise.all(sources.map((source) => source.trainerIds(page)));
  return [...new Set(all.flat())].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))).slice(0, page.limit);
}
