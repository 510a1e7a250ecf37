import { type Kysely, sql } from 'kysely';

/**
 * What an operator, who asks from another process, has to see of the running ones: which there are,
 * which tools they leave alone, how many people they removed, and what they alerted of.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('instance')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('started_at', 'text', (column) => column.notNull())
    .addColumn('beat_at', 'text', (column) => column.notNull())
    .addColumn('stopped_at', 'text')
    .execute();

  await db.schema
    .createTable('tool_trouble')
    .addColumn('tool', 'text', (column) => column.primaryKey())
    .addColumn('error_code', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('since', 'text', (column) => column.notNull())
    .addColumn('asks_again_at', 'text', (column) => column.notNull())
    .execute();

  await db.schema
    .createTable('removal_total')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('removed', 'bigint', (column) => column.notNull())
    .execute();
  await sql`insert into removal_total (install, removed)
    select membership.install, count(*) from receipt
    join membership on membership.id = receipt.membership_id
    where receipt.outcome = 'removed' group by membership.install`.execute(db);

  await db.schema.alterTable('notice').addColumn('alert', 'text').execute();
  await db.schema.alterTable('notice').addColumn('subject_digest', 'text').execute();
  await db.schema.createIndex('notice_of_subject').on('notice').columns(['subject_digest', 'occurred_at']).execute();
}
