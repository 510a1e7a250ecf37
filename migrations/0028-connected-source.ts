import type { Kysely } from 'kysely';

/** Which kind of account an install was connected with; until now each was a platform. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('connected_install')
    .addColumn('source', 'text', (column) => column.notNull().defaultTo('platform'))
    .execute();
}
