import type { Kysely } from 'kysely';

/** When the first of the feed's failed readings in a row was, for the alert after an hour. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('feed').addColumn('failing_since', 'text').execute();
}
