import { sql } from 'kysely';
import { inTransaction } from '../../db/database.ts';
import { jsonRows } from '../../db/json-list.ts';
import type { UsageTroubleKind } from '../../domain/usage.ts';
import type { Storage } from '../../keys/storage.ts';

// The only SQL of what an operator has to look at, and of when it was alerted.

export interface TroubleKey {
  install: string;
  kind: UsageTroubleKind;
}

/** Notes days that an operator has to look at, now or still. */
export async function noteTrouble(
  ctx: Storage,
  { install, kind }: TroubleKey,
  days: readonly string[],
  seenAt: string,
): Promise<void> {
  if (days.length === 0) return;
  // Sorted, so that two runs do not deadlock.
  const rows = jsonRows(
    ctx.database,
    [...new Set(days)].sort().map((day) => [install, kind, day, seenAt]),
  );
  await inTransaction(ctx.database, (tx) =>
    sql`insert into usage_trouble (install, kind, work, seen_at)
          select value ->> 0, value ->> 1, value ->> 2, value ->> 3 from ${rows} as given
          where true on conflict (install, kind, work)
          do update set seen_at = excluded.seen_at`.execute(tx),
  );
}

/** How many there are, how many were never alerted, and how many were not alerted since. */
export async function countTrouble(
  ctx: Storage,
  of: TroubleKey,
  since: string,
): Promise<{ all: number; fresh: number; due: number }> {
  const { all, fresh, due } = await ctx.database.kysely
    .selectFrom('usageTrouble')
    .select((eb) => [
      eb.fn.countAll<number>().as('all'),
      eb.fn.countAll<number>().filterWhere('alertedAt', 'is', null).as('fresh'),
      eb.fn.countAll<number>().filterWhere('alertedAt', '<=', since).as('due'),
    ])
    .where((eb) => eb.and({ ...of }))
    .executeTakeFirstOrThrow();
  return { all: Number(all), fresh: Number(fresh), due: Number(due) };
}

/** Marks all of them as alerted. */
export async function markTroubleAlerted(ctx: Storage, of: TroubleKey, alertedAt: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx
      .updateTable('usageTrouble')
      .set({ alertedAt })
      .where((eb) => eb.and({ ...of }))
      .execute(),
  );
}

/** Deletes what was not seen since. */
export async function forgetTroubles(ctx: Storage, install: string, seenBefore: string): Promise<void> {
  await inTransaction(ctx.database, (tx) =>
    tx.deleteFrom('usageTrouble').where('install', '=', install).where('seenAt', '<', seenBefore).execute(),
  );
}
