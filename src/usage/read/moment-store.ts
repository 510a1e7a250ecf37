import type { Database } from '../../db/database.ts';
import type { Moment, Observation } from '../../domain/usage.ts';
import { toItem } from './item-row.ts';
import { momentsOf } from './merge-items.ts';

/** The SQL that reads the moments of one day's work. Only few days need it. */
export interface MomentStore {
  /** Empty where the source does not know its work item by item. */
  momentsOf(observation: Observation): Promise<Moment[]>;
}

export function createMomentStore({ kysely }: Database): MomentStore {
  return {
    async momentsOf({ workedOn, memberId, day }) {
      if (workedOn.by !== 'scope' || memberId === undefined) return [];
      const rows = await kysely
        .selectFrom('usageItem')
        .selectAll()
        .where('tool', '=', workedOn.tool)
        .where('scope', '=', workedOn.scope)
        .where('memberId', '=', memberId)
        .where('lastDay', '>=', day)
        .where((eb) => eb.or([eb('doneDay', '=', day), eb('grown', 'like', `%"${day}"%`)]))
        .execute();
      return rows.flatMap((row) => momentsOf(toItem(row), day));
    },
  };
}
