import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** The latest complete listing of each group, and what in it is not as it should be, by name. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);
  await db.schema
    .createTable('drift_listing')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('listed_at', 'text', (column) => column.notNull())
    .addColumn('listed', 'integer', (column) => column.notNull())
    .addColumn('unkept', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('drift_listing_key', ['tool', 'group_id'])
    .execute();
  await db.schema
    .createTable('drift_finding')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('membership_id', 'bigint')
    .addColumn('since', 'text', (column) => column.notNull())
    .addColumn('content', bytes)
    .addColumn('address_digest', 'text')
    .execute();
  await db.schema
    .createIndex('drift_finding_of_group')
    .on('drift_finding')
    .columns(['tool', 'group_id', 'kind', 'id'])
    .execute();
  await db.schema.createIndex('drift_finding_address').on('drift_finding').column('address_digest').execute();
}
