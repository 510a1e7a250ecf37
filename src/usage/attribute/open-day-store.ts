import type { Day } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';

/** The first day since a given day that was never sent for the last time. */
export async function oldestOpenDay(ctx: Storage, from: Day): Promise<Day | null> {
  const { day } = await ctx.database.kysely
    .selectFrom('usageLedger')
    .select((eb) => eb.fn.min('day').as('day'))
    .where('closedAt', 'is', null)
    .where('day', '>=', from)
    .executeTakeFirstOrThrow();
  return day;
}
