import type { Kysely } from 'kysely';

/** What waits for money at the marketplace, as the list of an account said last, and how far that list was read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('pending_payment')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('payment_id', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text')
    .addColumn('amount_usd', 'double precision')
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('first_seen_at', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addColumn('absences', 'text')
    .addPrimaryKeyConstraint('pending_payment_key', ['install', 'payment_id'])
    .execute();
  await db.schema
    .createTable('payment_reader')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('next_read_at', 'text', (column) => column.notNull())
    .addColumn('asks', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('leased_until', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failure', 'text')
    .execute();
}
