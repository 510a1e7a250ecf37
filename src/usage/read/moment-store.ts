import type { Moment, Observation } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';
import { toItem } from './item-row.ts';
import { momentsOf } from './merge-items.ts';

// The SQL that reads the moments of one day's work. Only few days need it.

/** Empty where the source does not know its work item by item. */
export async function listMoments(ctx: Storage, { workedOn, memberId, day }: Observation): Promise<Moment[]> {
  if (workedOn.by !== 'scope' || memberId === undefined) return [];
  const rows = await ctx.database.kysely
    .selectFrom('usageItem')
    .selectAll()
    .where('tool', '=', workedOn.tool)
    .where('scope', '=', workedOn.scope)
    .where('memberId', '=', memberId)
    .where('lastDay', '>=', day)
    .where((eb) => eb.or([eb('doneDay', '=', day), eb('grown', 'like', `%"${day}"%`)]))
    .execute();
  return rows.flatMap((row) => momentsOf(toItem(row), day));
}
