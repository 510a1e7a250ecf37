import { type Kysely, sql } from 'kysely';

/** How long it took until a membership was as it was wanted: in the receipt of the call after which it was. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('receipt').addColumn('met_after_ms', 'bigint').execute();
  await db.schema
    .createIndex('receipt_met')
    .on('receipt')
    .column('id')
    .where(sql.ref('met_after_ms'), 'is not', null)
    .execute();
}
