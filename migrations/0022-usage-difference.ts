import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What the last comparison of the tools with the marketplace found, and how much there was on each day. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('usage_difference')
    .addColumn('id', id)
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('why', 'text', (column) => column.notNull())
    .addColumn('seen_seconds', 'bigint')
    .addColumn('seen_tasks', 'bigint')
    .addColumn('seen_labels', 'bigint')
    .addColumn('sent_seconds', 'bigint')
    .addColumn('sent_tasks', 'bigint')
    .addColumn('sent_labels', 'bigint')
    .addColumn('held', 'text')
    .addColumn('held_id', 'text')
    .execute();
  await db.schema.createIndex('usage_difference_by_day').on('usage_difference').columns(['day', 'id']).execute();
  await db.schema.createIndex('usage_difference_held').on('usage_difference').column('held_id').execute();
  await db.schema
    .createTable('usage_day_sum')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('seen_seconds', 'bigint')
    .addColumn('seen_tasks', 'bigint')
    .addColumn('seen_labels', 'bigint')
    .addColumn('sent_seconds', 'bigint')
    .addColumn('sent_tasks', 'bigint')
    .addColumn('sent_labels', 'bigint')
    .addPrimaryKeyConstraint('usage_day_sum_key', ['day', 'install'])
    .execute();
}
