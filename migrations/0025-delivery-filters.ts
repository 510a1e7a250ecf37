import { type Kysely, sql } from 'kysely';

/** An index for lists of deliveries that nothing uses. It has no row for others, so receiving them costs no more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('delivery_ignored')
    .on('delivery')
    .columns(['install', 'id'])
    .where(sql.ref('state'), '=', sql.lit('ignored'))
    .execute();
}
