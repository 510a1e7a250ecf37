import { type Kysely, sql } from 'kysely';

/** The budget of each contract as it was last read, what was told of it, and who reads it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createBudgets(db);
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

const amounts = [
  'funded_volume',
  'funded_amount_usd',
  'consumed_volume',
  'remaining_volume',
  'consumed_fraction',
  'consumed_seconds',
  'consumed_labels',
  'consumed_tasks',
  'told_funded_volume',
];

const texts = [
  'state',
  'state_since',
  'payment_type',
  'last_usage_at',
  'asked_at',
  'next_read_at',
  'met_event_at',
  'not_found_at',
  'failure',
  'told_state',
  'told_at',
];

async function createBudgets(db: Kysely<unknown>): Promise<void> {
  let budget = db.schema
    .createTable('budget')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull());
  for (const name of amounts) budget = budget.addColumn(name, 'double precision');
  for (const name of texts) budget = budget.addColumn(name, 'text');
  await budget
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
