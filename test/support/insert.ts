import type { Insertable, Kysely } from 'kysely';
import type { Tables } from '../../src/db/schema.ts';

/** Writes a row, or several, as if Gangway had. */
export async function insert<T extends keyof Tables>(
  kysely: Kysely<Tables>,
  table: T,
  rows: Insertable<Tables[T]> | Insertable<Tables[T]>[],
): Promise<void> {
  await kysely
    .insertInto(table)
    .values(rows as never)
    .execute();
}
