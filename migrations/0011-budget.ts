import { type Kysely, sql } from 'kysely';

/** The budget of each contract as it was last read, its last notice, and which instance reads it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createBudgets(db);
  await createBudgetReaders(db);
}

async function createBudgets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('budget')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('funded_volume', 'double precision')
    .addColumn('funded_amount_usd', 'double precision')
    .addColumn('consumed_volume', 'double precision')
    .addColumn('remaining_volume', 'double precision')
    .addColumn('consumed_fraction', 'double precision')
    .addColumn('consumed_seconds', 'double precision')
    .addColumn('consumed_labels', 'double precision')
    .addColumn('consumed_tasks', 'double precision')
    .addColumn('notified_funded_volume', 'double precision')
    .addColumn('state', 'text')
    .addColumn('state_since', 'text')
    .addColumn('payment_type', 'text')
    .addColumn('last_usage_at', 'text')
    .addColumn('asked_at', 'text')
    .addColumn('next_read_at', 'text')
    .addColumn('met_event_at', 'text')
    .addColumn('not_found_at', 'text')
    .addColumn('failure', 'text')
    .addColumn('notified_state', 'text')
    .addColumn('notified_at', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('budget_key', ['install', 'contract_id'])
    .execute();
  await db.schema
    .createIndex('budget_due')
    .on('budget')
    .columns(['install', 'next_read_at'])
    .where(sql.ref('next_read_at'), 'is not', null)
    .execute();
}

async function createBudgetReaders(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('budget_reader')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('lease_token', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('rest_until', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failure', 'text')
    .execute();
}
