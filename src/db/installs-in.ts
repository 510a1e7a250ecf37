import { type RawBuilder, sql } from 'kysely';
import type { Transaction } from './database.ts';
import type { Tables } from './schema.ts';

const all = sql<boolean>`true`;

/**
 * The installs that have rows in a table. It skips from install to install in the index, however many rows each has.
 *
 * @param which the rows that are looked at
 * @param has a condition about `turn.install`
 */
export async function installsIn(
  db: Transaction,
  table: keyof Tables,
  { which = all, has = all }: { which?: RawBuilder<boolean>; has?: RawBuilder<boolean> } = {},
): Promise<string[]> {
  const first = sql`select min(install) from ${sql.table(table)} where ${which}`;
  const { rows } = await sql<{ install: string }>`
    with recursive turn (install) as (
      ${first}
      union all
      select (${first} and install > turn.install) from turn where turn.install is not null
    )
    select install from turn where install is not null and ${has}`.execute(db);
  return rows.map(({ install }) => install);
}
