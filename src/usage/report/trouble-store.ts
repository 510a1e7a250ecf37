import { sql } from 'kysely';
import { type Database, inTransaction } from '../../db/database.ts';
import { jsonRows } from '../../db/json-list.ts';
import type { UsageTroubleKind } from '../../db/usage-tables.ts';

/** The only SQL of what needs somebody, and of when that was said. */
export interface TroubleStore {
  /** These need somebody still, or now. */
  note(of: TroubleKey, works: readonly string[], seenAt: string): Promise<void>;
  /** How many there are, how many were never told, and how many were not told since. */
  count(of: TroubleKey, since: string): Promise<{ all: number; fresh: number; due: number }>;
  /** All of them have been told. */
  markAlerted(of: TroubleKey, toldAt: string): Promise<void>;
  /** What was not seen since needs nobody any more. */
  forget(install: string, seenBefore: string): Promise<void>;
}

export interface TroubleKey {
  install: string;
  kind: UsageTroubleKind;
}

export function createTroubleStore(database: Database): TroubleStore {
  const { kysely } = database;
  return {
    async note({ install, kind }, works, seenAt) {
      if (works.length === 0) return;
      // In one order, so that two runs do not wait for each other.
      const rows = jsonRows(
        database,
        [...new Set(works)].sort().map((work) => [install, kind, work, seenAt]),
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
          eb.fn.countAll<number>().filterWhere('toldAt', 'is', null).as('fresh'),
          eb.fn.countAll<number>().filterWhere('toldAt', '<=', since).as('due'),
        ])
        .where((eb) => eb.and({ ...of }))
        .executeTakeFirstOrThrow();
      return { all: Number(all), fresh: Number(fresh), due: Number(due) };
    },

    async markAlerted(of, toldAt) {
      await inTransaction(database, (tx) =>
        tx
          .updateTable('usageTrouble')
          .set({ toldAt })
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
