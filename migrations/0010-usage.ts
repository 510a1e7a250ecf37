import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** The work that is read in the tools, the ledger of what was reported, and when contracts run. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['start_date', 'start_date_version', 'end_date', 'end_date_version']) {
    await db.schema.alterTable('contract').addColumn(column, 'text').execute();
  }
  await createPlaces(db);
  await createPeople(db);
  await createItems(db);
  await createDays(db);
  await createLedger(db);
  await db.schema
    .createTable('final_reading')
    .addColumn('membership_id', 'bigint', (column) => column.primaryKey())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('wanted_at', 'text', (column) => column.notNull())
    .addColumn('is_unread', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

async function createPlaces(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_place')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('next_read_at', 'text')
    .addColumn('lease_token', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failure', 'text')
    .addColumn('read_began_at', 'text')
    .addColumn('complete_began_at', 'text')
    .addPrimaryKeyConstraint('usage_place_key', ['tool', 'scope'])
    .execute();
  await db.schema
    .createIndex('usage_place_due')
    .on('usage_place')
    .column('next_read_at')
    .where(sql.ref('next_read_at'), 'is not', null)
    .execute();
  await db.schema
    .createTable('usage_place_group')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_place_group_key', ['tool', 'group_id', 'scope'])
    .execute();
}

async function createPeople(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_person')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('member_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('totals', 'text')
    .addPrimaryKeyConstraint('usage_person_key', ['tool', 'scope', 'member_id'])
    .execute();
}

async function createItems(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_item')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('member_id', 'text', (column) => column.notNull())
    .addColumn('item_id', 'text', (column) => column.notNull())
    .addColumn('task_id', 'text', (column) => column.notNull())
    .addColumn('done_day', 'text', (column) => column.notNull())
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

async function createDays(db: Kysely<unknown>): Promise<void> {
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
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_day_key', ['tool', 'scope', 'member_id', 'day'])
    .execute();
  await db.schema.createIndex('usage_day_by_day').on('usage_day').column('day').execute();
  await db.schema.createIndex('usage_day_by_trainer').on('usage_day').columns(['trainer_id', 'day']).execute();
}

async function createLedger(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  let ledger = db.schema
    .createTable('usage_ledger')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull());
  for (const count of ['seconds', 'tasks', 'labels']) {
    ledger = ledger.addColumn(count, 'bigint').addColumn(`tried_${count}`, 'bigint');
  }
  await ledger
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('is_doubted', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('sent_at', 'text', (column) => column.notNull())
    .addColumn('answered_at', 'text')
    .addColumn('closed_at', 'text')
    .addColumn('report_id', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('status', 'integer')
    .addColumn('message', 'text')
    .addPrimaryKeyConstraint('usage_ledger_key', ['install', 'contract_id', 'trainer_id', 'day'])
    .execute();
  await db.schema.createIndex('usage_ledger_by_day').on('usage_ledger').columns(['install', 'day']).execute();
  await db.schema
    .createTable('usage_decision')
    .addColumn('id', id)
    .addColumn('work', 'text', (column) => column.notNull().unique())
    .addColumn('install', 'text')
    .addColumn('contract_id', 'text')
    .addColumn('decided_at', 'text', (column) => column.notNull())
    .execute();
}
