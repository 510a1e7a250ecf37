import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What a reading has found and no delivery had said before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('missed_event')
    .addColumn('id', id)
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text')
    .addColumn('link_id', 'text')
    .addColumn('trainer_id', 'text')
    .addColumn('found_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('missed_event_by_install')
    .on('missed_event')
    .columns(['install', 'found_at', 'kind'])
    .execute();
}
