import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What is derived from the evidence, and what was meant and done about it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createMemberships(db);
  await createIntents(db);
  await createReceipts(db);
  await createWork(db);
}

async function createMemberships(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);

  await db.schema
    .createTable('membership')
    .addColumn('id', id)
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('wanted', 'integer', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('member_id', 'text')
    .addColumn('is_ours', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at', 'text')
    .addColumn('lease_token', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('look_again', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failure', 'text')
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('membership_key', ['trainer_id', 'tool', 'group_id'])
    .execute();
  await db.schema
    .createIndex('membership_due')
    .on('membership')
    .columns(['tool', 'next_attempt_at'])
    .where(sql.ref('next_attempt_at'), 'is not', null)
    .execute();
}

async function createIntents(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);

  await db.schema
    .createTable('intent')
    .addColumn('id', id)
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('was_found', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('intent_by_membership').on('intent').column('membership_id').execute();
}

async function createReceipts(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);

  await db.schema
    .createTable('receipt')
    .addColumn('id', id)
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('tool_status', 'integer')
    .addColumn('message', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('receipt_by_membership').on('receipt').column('membership_id').execute();
}

async function createWork(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('derivation')
    .addColumn('trainer_id', 'text', (column) => column.primaryKey())
    .execute();

  await db.schema
    .createTable('read_request')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('wanted_at', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text', (column) => column.notNull())
    .addColumn('leased_until', 'text')
    .addPrimaryKeyConstraint('read_request_key', ['install', 'contract_id'])
    .execute();

  await db.schema
    .createTable('named_lock')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('token', 'text', (column) => column.notNull())
    .addColumn('leased_until', 'text', (column) => column.notNull())
    .execute();
}
