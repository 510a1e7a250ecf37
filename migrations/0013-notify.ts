import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What somebody is to be told of, and how far that has come in each channel. */
export async function up(db: Kysely<unknown>): Promise<void> {
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
    .execute();
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
  await createIndexes(db);
}

async function createIndexes(db: Kysely<unknown>): Promise<void> {
  const indexes = [
    ['dispatch_due', ['channel', 'next_attempt_at']],
    ['dispatch_settled', ['settled_at']],
    ['dispatch_of_notice', ['notice_id']],
    ['dispatch_of_lease', ['lease_token']],
  ] as const;
  for (const [name, columns] of indexes) {
    await db.schema
      .createIndex(name)
      .on('dispatch')
      .columns([...columns])
      .execute();
  }
}
