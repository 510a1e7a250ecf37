import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Instances whose clocks differ, or whose commits overtake each other, number their rows crosswise. */
const disorderMs = 60_000;

/**
 * An id that everything since an instant is at or above. Ids grow with time, so it is found by
 * bisection: these tables hold millions of rows and have no index by time.
 */
export async function firstIdSince(
  kysely: Database['kysely'],
  table: 'delivery' | 'receipt' | 'removal',
  column: string,
  since: string,
): Promise<number> {
  const from = sql.table(table);
  const margin = new Date(Date.parse(since) - disorderMs).toISOString();
  const ends = await sql<{ least: number | null; greatest: number | null }>`
    select (select min(id) from ${from}) as least, (select max(id) from ${from}) as greatest
  `.execute(kysely);
  const { least = null, greatest = null } = ends.rows[0] ?? {};
  // Everything up to `older` is too old, and nothing from `young` on.
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
