import type { Kysely } from 'kysely';

/** When a removal began to wait for lists of active contracts, which it does last. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('awaited_reading').addColumn('lists_waited_since', 'text').execute();
}
