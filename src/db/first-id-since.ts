import { sql } from 'kysely';
import type { Database } from './database.ts';

/** If clocks differ or commits overtake each other, ids and times are not in quite the same order. */
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
  return await bisect(kysely, table, column, new Date(Date.parse(since) - disorderMs).toISOString());
}

/** The same, such that every row up to an instant has a smaller id. */
export async function firstIdBeyond(
  kysely: Database['kysely'],
  table: TimedTable,
  column: string,
  until: string,
): Promise<number> {
  return await bisect(kysely, table, column, new Date(Date.parse(until) + disorderMs + 1).toISOString());
}

type TimedTable = 'delivery' | 'receipt' | 'removal';

async function bisect(kysely: Database['kysely'], table: TimedTable, column: string, margin: string): Promise<number> {
  const from = sql.table(table);
  const ends = await sql<{ least: number | null; greatest: number | null }>`
    select (select min(id) from ${from}) as least, (select max(id) from ${from}) as greatest
  `.execute(kysely);
  const { least = null, greatest = null } = ends.rows[0] ?? {};
  // Every row up to `older` is too old, and no row from `young` on is.
  let [older, young] = [(least ?? 1) - 1, (greatest ?? 0) + 1];
  while (young - older > 1) {
    const middle = Math.floor((older + young) / 2);
    const { rows } = await sql<{ id: number; at: string }>`
      select id, ${sql.ref(column)} as at from ${from}
        where id >= ${middle} order by id limit 1`.execute(kysely);
    const [row] = rows;
    if (row === undefined || row.at >= margin) young = middle;
    else older = row.id;
  }
  return young;
}
