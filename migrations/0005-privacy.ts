import type { Kysely } from 'kysely';

/** Since when something is over, where no event says so; and who is to be forgotten. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('contract_end')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('contract_end_key', ['install', 'contract_id'])
    .execute();

  await db.schema
    .createTable('forgotten')
    .addColumn('trainer_id', 'text', (column) => column.primaryKey())
    .addColumn('forgotten_at', 'text', (column) => column.notNull())
    .execute();
}
