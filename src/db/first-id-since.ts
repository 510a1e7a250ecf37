import { sql } from 'kysely';
import { instantAfter } from '../lib/clock.ts';
import type { Database } from './database.ts';

/** Ids and times are not quite in the same order where clocks differ or commits overtake each other. */
const disorderMs = 60_000;

/**
 * An id such that every row since an instant has this id or a greater one. Ids grow with time, so it
 * is found by bisection, because these tables have millions of rows and no index by time.
 */
export async function firstIdSince(
  kysely: Database['kysely'],
  table: TimedTable,
  column: string,
  since: string,
): Promise<number> {
  return await bisect(kysely, table, column, instantAfter(since, -disorderMs));
}

/** An id such that every row up to an instant has a smaller one. */
export async function firstIdBeyond(
  kysely: Database['kysely'],
  table: TimedTable,
  column: string,
  until: string,
): Promise<number> {
  return await bisect(kysely, table, column, instantAfter(until, disorderMs + 1));
}

type TimedTable = 'delivery' | 'receipt' | 'removal';

async function bisect(kysely: Database['kysely'], table: TimedTable, column: string, margin: string): Promise<number> {
  const { rows } = await bisection(table, column, margin).execute(kysely);
  return Number(rows[0]?.first);
}

/**
 * All steps in one statement, because each alone would be a round trip. Every row up to `older` is too old, and no row
 * from `young` on is.
 */
export function bisection(table: TimedTable, column: string, margin: string) {
  const from = sql.table(table);
  const at = sql.ref(`probe.${column}`);
  return sql<{ first: number }>`
    with recursive bisection (older, young) as (
      select coalesce((select min(id) from ${from}), 1) - 1, coalesce((select max(id) from ${from}), 0) + 1
      union all
      select case when ${at} < ${margin} then probe.id else older end,
        case when ${at} < ${margin} then young else (older + young) / 2 end
      from bisection join ${from} as probe
        on probe.id = (select id from ${from} where id >= (older + young) / 2 order by id limit 1)
      where young - older > 1)
    select min(young) as first from bisection`;
}
