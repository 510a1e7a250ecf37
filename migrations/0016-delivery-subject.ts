import { type Kysely, sql } from 'kysely';

/** What a delivery is about, so that a timeline finds it and what operators did, and indexes for a list of deliveries. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('delivery').addColumn('subject_id', 'text').execute();
  await db.schema
    .createIndex('delivery_subject')
    .on('delivery')
    .columns(['subject_id', 'id'])
    .where(sql.ref('subject_id'), 'is not', null)
    .execute();
  await db.schema.createIndex('delivery_by_install').on('delivery').columns(['install', 'id']).execute();
  await db.schema.createIndex('audit_by_subject').on('audit').column('subject').execute();
  await db.schema.createIndex('delivery_by_type').on('delivery').columns(['event_type', 'id']).execute();
}
