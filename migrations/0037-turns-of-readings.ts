import type { Kysely } from 'kysely';

/** The install whose turn a reading of work takes. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('usage_scope')
    .addColumn('install', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
}
