import type { Kysely } from 'kysely';

/** How far the updates feed of an employer's account was read, for each install that reads it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('feed')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('cursor', 'text')
    .addColumn('next_read_at', 'text', (column) => column.notNull())
    .addColumn('leased_until', 'text')
    .addColumn('read_at', 'text')
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('failure', 'text')
    .addPrimaryKeyConstraint('feed_key', ['install', 'grant_id'])
    .execute();
}
