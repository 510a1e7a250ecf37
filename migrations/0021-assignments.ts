import type { Kysely } from 'kysely';

/**
 * Projects that somebody has left who stays in their group for another, and places of work that
 * refuse to be read.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('left_project')
    .addColumn('membership_id', 'bigint', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('due_at', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'text')
    .addPrimaryKeyConstraint('left_project_key', ['membership_id', 'project'])
    .execute();

  await db.schema.alterTable('usage_place').addColumn('refused_at', 'text').execute();
}
