import { type Kysely, PostgresAdapter, sql } from 'kysely';

/**
 * When pieces of work were done and grew, and whether they still tell whose a day is; and the work of
 * some people after others, in an order that is the same on both databases.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const trainer = isPostgres ? sql`trainer_id collate "C"` : sql`trainer_id`;
  await db.schema.alterTable('usage_item').addColumn('moments', 'text').execute();
  await db.schema
    .alterTable('usage_day')
    .addColumn('is_torn', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  if (isPostgres) {
    await sql`drop index usage_day_by_trainer`.execute(db);
    await sql`create index usage_day_by_trainer on usage_day (${trainer}, day)`.execute(db);
  }
  await sql`create index usage_import_entry_by_trainer
    on usage_import_entry (${trainer}, day)`.execute(db);
}
