import { sql } from 'kysely';
import { type Database, inTransaction } from '../../db/database.ts';
import { jsonRows } from '../../db/json-list.ts';
import type { UsageTroubleKind } from '../../domain/usage.ts';

/** The only SQL of what an operator has to look at, and of when it was alerted. */
export interface TroubleStore {
  /** Notes days that an operator has to look at, now or still. */
  note(of: TroubleKey, days: readonly string[], seenAt: string): Promise<void>;
  /** How many there are, how many were never alerted, and how many were not alerted since. */
  count(of: TroubleKey, since: string): Promise<{ all: number; fresh: number; due: number }>;
  /** Marks all of them as alerted. */
  markAlerted(of: TroubleKey, alertedAt: string): Promise<void>;
  /** Deletes what was not seen since. */
  forget(install: string, seenBefore: string): Promise<void>;
}

export interface TroubleKey {
  install: string;
  kind: UsageTroubleKind;
}

export function createTroubleStore(database: Database): TroubleStore {
  const { kysely } = database;
  return {
    async note({ install, kind }, days, seenAt) {
      if (days.length === 0) return;
      // Sorted, so that two runs do not deadlock.
      const rows = jsonRows(
        database,
        [...new Set(days)].sort().map((day) => [install, kind, day, seenAt]),
      );
      await inTransaction(database, (tx) =>
        sql`insert into usage_trouble (install, kind, work, seen_at)
          select value ->> 0, value ->> 1, value ->> 2, value ->> 3 from ${rows} as given
          where true on conflict (install, kind, work)
          do update set seen_at = excluded.seen_at`.execute(tx),
      );
    },

    async count(of, since) {
      const { all, fresh, due } = await kysely
        .selectFrom('usageTrouble')
        .select((eb) => [
          eb.fn.countAll<number>().as('all'),
          eb.fn.countAll<number>().filterWhere('alertedAt', 'is', null).as('fresh'),
          eb.fn.countAll<number>().filterWhere('alertedAt', '<=', since).as('due'),
        ])
        .where((eb) => eb.and({ ...of }))
        .executeTakeFirstOrThrow();
      return { all: Number(all), fresh: Number(fresh), due: Number(due) };
    },

    async markAlerted(of, alertedAt) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('usageTrouble')
          .set({ alertedAt })
          .where((eb) => eb.and({ ...of }))
          .execute(),
      );
    },

    async forget(install, seenBefore) {
      await inTransaction(database, (tx) =>
        tx.deleteFrom('usageTrouble').where('install', '=', install).where('seenAt', '<', seenBefore).execute(),
      );
    },
  };
}
