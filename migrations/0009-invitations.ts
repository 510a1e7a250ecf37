import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** How people get in who have no login yet, until they have been told. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);

  await db.schema.alterTable('intent').addColumn('credential', bytes).execute();

  await db.schema
    .createTable('invitation')
    .addColumn('membership_id', 'bigint', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('content', bytes)
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('delivered_at', 'text')
    .addColumn('delivered_by', 'text')
    .addColumn('is_renewal_wanted', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text')
    .addColumn('failure', 'text')
    .execute();
  await db.schema.createIndex('invitation_due').on('invitation').column('next_attempt_at').execute();
}
