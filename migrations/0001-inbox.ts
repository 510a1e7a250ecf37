import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Deliveries as they came in, how much each install has stored, and the settings of the database itself. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createSettings(db);
  await createDeliveries(db);
  await createInstallStorage(db);
}

async function createSettings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('setting')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();
}

async function createDeliveries(db: Kysely<unknown>): Promise<void> {
  const { bytes, id } = columnTypesOf(db);
  await db.schema
    .createTable('delivery')
    .addColumn('id', id)
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('body_sha256', bytes, (column) => column.notNull())
    .addColumn('delivery_id', 'text')
    .addColumn('event_type', 'text')
    .addColumn('received_at', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text')
    .addColumn('failure', 'text')
    .addColumn('reader_version', 'integer', (column) => column.notNull())
    .addColumn('headers', 'text', (column) => column.notNull())
    .addColumn('body', bytes, (column) => column.notNull())
    .addUniqueConstraint('delivery_body', ['install', 'body_sha256'])
    .execute();
  // Partial, so that they stay small however many deliveries lie handled.
  await db.schema
    .createIndex('delivery_turn')
    .on('delivery')
    .columns(['install', 'id', 'next_attempt_at'])
    .where(sql.ref('next_attempt_at'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('delivery_trouble')
    .on('delivery')
    .column('id')
    .where(sql.ref('failure'), 'is not', null)
    .execute();
}

async function createInstallStorage(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('install_storage')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('install_storage_key', ['install', 'part'])
    .execute();
}
