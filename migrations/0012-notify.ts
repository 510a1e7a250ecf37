import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** The notices, and how far each has come in each channel. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createNotices(db);
  await createDispatches(db);
}

async function createNotices(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('notice')
    .addColumn('id', id)
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('occurred_at', 'text', (column) => column.notNull())
    .addColumn('is_repeat', 'integer', (column) => column.notNull())
    .addColumn('budget', 'text', (column) => column.notNull())
    .addColumn('alert', 'text')
    .execute();
}

async function createDispatches(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('dispatch')
    .addColumn('id', id)
    .addColumn('notice_id', 'bigint', (column) => column.notNull().references('notice.id'))
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull().defaultTo('waiting'))
    .addColumn('message_id', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text')
    .addColumn('lease_token', 'text')
    .addColumn('failure', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('settled_at', 'text')
    .execute();
  await db.schema.createIndex('dispatch_due').on('dispatch').columns(['channel', 'next_attempt_at']).execute();
  await db.schema.createIndex('dispatch_settled').on('dispatch').column('settled_at').execute();
  await db.schema.createIndex('dispatch_of_notice').on('dispatch').column('notice_id').execute();
  await db.schema.createIndex('dispatch_of_lease').on('dispatch').column('lease_token').execute();
}
