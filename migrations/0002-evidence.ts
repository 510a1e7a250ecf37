import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** The registers of evidence. Rows of what has ended stay, as ids. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createRegisters(db);
  await createRelations(db);
  await createPeople(db);
}

async function createRegisters(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('contract')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('started_event_at', 'text')
    .addColumn('ended_event_at', 'text')
    .addColumn('active_read_at', 'text')
    .addColumn('ended_read_at', 'text')
    .addColumn('budget_event_at', 'text')
    .addColumn('title', 'text')
    .addColumn('title_version', 'text')
    .addPrimaryKeyConstraint('contract_key', ['install', 'contract_id'])
    .execute();

  await db.schema
    .createTable('link')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('link_id', 'text', (column) => column.notNull())
    .addColumn('removed_event_at', 'text')
    .addColumn('external_project_id', 'text')
    .addColumn('external_project_name', 'text')
    .addColumn('provisioning_mode', 'text')
    .addPrimaryKeyConstraint('link_key', ['install', 'link_id'])
    .execute();

  await db.schema
    .createTable('install_grant')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('revoked_event_at', 'text')
    .addPrimaryKeyConstraint('install_grant_key', ['install', 'grant_id'])
    .execute();
}

async function createRelations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('contract_link')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('link_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('contract_link_key', ['install', 'contract_id', 'link_id'])
    .execute();
  await db.schema.createIndex('contract_link_by_link').on('contract_link').columns(['install', 'link_id']).execute();

  await db.schema
    .createTable('participation')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('participation_key', ['install', 'contract_id', 'trainer_id'])
    .execute();
  await db.schema.createIndex('participation_by_trainer').on('participation').column('trainer_id').execute();
}

async function createPeople(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);

  await db.schema
    .createTable('person')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('display_name', 'text')
    .addColumn('display_name_version', 'text')
    .addColumn('work_email', bytes)
    .addColumn('work_email_digest', 'text')
    .addColumn('work_email_version', 'text')
    .addPrimaryKeyConstraint('person_key', ['install', 'trainer_id'])
    .execute();
  await db.schema.createIndex('person_by_trainer').on('person').column('trainer_id').execute();
}
