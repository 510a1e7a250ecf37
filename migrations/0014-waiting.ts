import { type Kysely, sql } from 'kysely';

/** Since when something waits, and the indexes by which the oldest of each kind is found on every scrape. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('membership').addColumn('unmet_since', 'text').execute();
  await db.schema
    .createIndex('membership_unmet')
    .on('membership')
    .columns(['wanted', 'state', 'unmet_since'])
    .where(sql.ref('unmet_since'), 'is not', null)
    .execute();
  await db.schema.createIndex('read_request_wanted').on('read_request').columns(['install', 'wanted_at']).execute();
  await db.schema
    .createIndex('plan_open')
    .on('plan')
    .column('created_at')
    .where(sql.ref('state'), '=', sql.lit('open'))
    .execute();
  await db.schema
    .createIndex('invitation_undelivered')
    .on('invitation')
    .column('created_at')
    .where(sql.ref('delivered_at'), 'is', null)
    .execute();
}
