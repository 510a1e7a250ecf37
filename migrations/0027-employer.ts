import type { Kysely } from 'kysely';

/** The links of employers' own accounts, which the marketplace does not hold; and why a trainer has no address. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('job_link')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('link_id', 'text', (column) => column.notNull())
    .addColumn('job_id', 'text', (column) => column.notNull())
    .addColumn('external_project_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('job_link_key', ['install', 'link_id'])
    .addUniqueConstraint('job_link_once', ['install', 'job_id', 'external_project_id'])
    .execute();
  await db.schema.alterTable('person').addColumn('address_missing', 'text').execute();
  await db.schema.alterTable('person').addColumn('address_missing_version', 'text').execute();
}
