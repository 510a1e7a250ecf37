import { type Kysely, PostgresAdapter, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** The work that is read in the tools, whose it is, and the ledger of what was reported. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createUsageScopes(db);
  await createUsageScopeGroups(db);
  await createUsagePeople(db);
  await createUsageItems(db);
  await createUsageDays(db);
  await createUsageLedgers(db);
  await createUsageDecisions(db);
  await createUsageTroubles(db);
}

async function createUsageScopes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_scope')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('next_read_at', 'text')
    .addColumn('lease_token', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failure', 'text')
    .addColumn('read_began_at', 'text')
    .addColumn('complete_began_at', 'text')
    .addColumn('refused_at', 'text')
    .addColumn('failing_since', 'text')
    .addColumn('gone_since', 'text')
    .addColumn('alerted_at', 'text')
    .addColumn('gap', 'text')
    .addColumn('gap_since', 'text')
    .addPrimaryKeyConstraint('usage_scope_key', ['tool', 'scope'])
    .execute();
  await db.schema
    .createIndex('usage_scope_due')
    .on('usage_scope')
    .column('next_read_at')
    .where(sql.ref('next_read_at'), 'is not', null)
    .execute();
}

async function createUsageScopeGroups(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_scope_group')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_scope_group_key', ['tool', 'group_id', 'scope'])
    .execute();
}

async function createUsagePeople(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_person')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('member_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('totals', 'text')
    .addColumn('fallen_since', 'text')
    .addPrimaryKeyConstraint('usage_person_key', ['tool', 'scope', 'member_id'])
    .execute();
}

async function createUsageItems(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_item')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('member_id', 'text', (column) => column.notNull())
    .addColumn('item_id', 'text', (column) => column.notNull())
    .addColumn('task_id', 'text', (column) => column.notNull())
    .addColumn('is_done', 'integer', (column) => column.notNull())
    .addColumn('done_day', 'text', (column) => column.notNull())
    .addColumn('done_at', 'text', (column) => column.notNull())
    .addColumn('last_day', 'text', (column) => column.notNull())
    .addColumn('labels', 'bigint')
    .addColumn('seconds', 'bigint')
    .addColumn('grown', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_item_key', ['tool', 'scope', 'member_id', 'item_id'])
    .execute();
  await db.schema
    .createIndex('usage_item_by_day')
    .on('usage_item')
    .columns(['tool', 'scope', 'member_id', 'last_day'])
    .execute();
}

async function createUsageDays(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_day')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('member_id', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('seconds', 'bigint')
    .addColumn('tasks', 'bigint')
    .addColumn('labels', 'bigint')
    .addColumn('is_frozen', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('is_torn', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_day_key', ['tool', 'scope', 'member_id', 'day'])
    .execute();
  await db.schema.createIndex('usage_day_by_day').on('usage_day').column('day').execute();
  await sql`create index usage_day_by_trainer on usage_day (${trainerOf(db)}, day)`.execute(db);
}

async function createUsageLedgers(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_ledger')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('seconds', 'bigint')
    .addColumn('tasks', 'bigint')
    .addColumn('labels', 'bigint')
    .addColumn('tried_seconds', 'bigint')
    .addColumn('tried_tasks', 'bigint')
    .addColumn('tried_labels', 'bigint')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('sent_at', 'text', (column) => column.notNull())
    .addColumn('answered_at', 'text')
    .addColumn('closed_at', 'text')
    .addColumn('doubted_until', 'text')
    .addColumn('lowering_held_at', 'text')
    .addColumn('lowered_at', 'text')
    .addColumn('lowered_from', 'text')
    .addColumn('report_id', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('status', 'integer')
    .addColumn('message', 'text')
    .addPrimaryKeyConstraint('usage_ledger_key', ['install', 'contract_id', 'trainer_id', 'day'])
    .execute();
  await db.schema.createIndex('usage_ledger_by_day').on('usage_ledger').columns(['install', 'day']).execute();
  await db.schema
    .createIndex('usage_ledger_open')
    .on('usage_ledger')
    .column('day')
    .where(sql.ref('closed_at'), 'is', null)
    .execute();
  await db.schema
    .createIndex('usage_ledger_lowering_held')
    .on('usage_ledger')
    .columns(['install', 'day'])
    .where(sql.ref('lowering_held_at'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('usage_ledger_lowered')
    .on('usage_ledger')
    .columns(['install', 'lowered_at'])
    .where(sql.ref('lowered_at'), 'is not', null)
    .execute();
}

async function createUsageDecisions(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('usage_decision')
    .addColumn('id', id)
    .addColumn('work', 'text', (column) => column.notNull().unique())
    .addColumn('install', 'text')
    .addColumn('contract_id', 'text')
    .addColumn('decided_at', 'text', (column) => column.notNull())
    .execute();
}

async function createUsageTroubles(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_trouble')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('work', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addColumn('alerted_at', 'text')
    .addPrimaryKeyConstraint('usage_trouble_key', ['install', 'kind', 'work'])
    .execute();
}

/** In an order that is the same on both databases. */
function trainerOf(db: Kysely<unknown>) {
  return db.getExecutor().adapter instanceof PostgresAdapter ? sql`trainer_id collate "C"` : sql`trainer_id`;
}
