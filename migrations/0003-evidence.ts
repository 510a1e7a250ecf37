import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** The registers of evidence. Rows of what has ended stay, as ids. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createContracts(db);
  await createLinks(db);
  await createInstallGrants(db);
  await createContractLinks(db);
  await createParticipations(db);
  await createPeople(db);
  await createReadRequests(db);
}

async function createContracts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('contract')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('started_event_at', 'text')
    .addColumn('ended_event_at', 'text')
    .addColumn('active_read_at', 'text')
    .addColumn('ended_read_at', 'text')
    .addColumn('ended_by_operator_at', 'text')
    .addColumn('reopened_at', 'text')
    .addColumn('participants_read_at', 'text')
    .addColumn('budget_event_at', 'text')
    .addColumn('title', 'text')
    .addColumn('title_version', 'text')
    .addColumn('start_date', 'text')
    .addColumn('start_date_version', 'text')
    .addColumn('end_date', 'text')
    .addColumn('end_date_version', 'text')
    .addPrimaryKeyConstraint('contract_key', ['install', 'contract_id'])
    .execute();
}

async function createLinks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('link')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('link_id', 'text', (column) => column.notNull())
    .addColumn('removed_event_at', 'text')
    .addColumn('first_seen_at', 'text')
    .addColumn('seen_at', 'text')
    .addColumn('absences', 'text')
    .addColumn('contracts_read_at', 'text')
    .addColumn('external_project_id', 'text')
    .addColumn('external_project_name', 'text')
    .addColumn('external_project_url', 'text')
    .addColumn('job_id', 'text')
    .addColumn('provisioning_mode', 'text')
    .addColumn('provisioning_mode_version', 'text')
    .addPrimaryKeyConstraint('link_key', ['install', 'link_id'])
    .execute();
  await db.schema.createIndex('link_by_project').on('link').columns(['install', 'external_project_id']).execute();
}

async function createInstallGrants(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('install_grant')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('revoked_event_at', 'text')
    .addColumn('revoked_received_at', 'text')
    .addColumn('first_active_read_at', 'text')
    .addColumn('active_read_at', 'text')
    .addPrimaryKeyConstraint('install_grant_key', ['install', 'grant_id'])
    .execute();
}

async function createContractLinks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('contract_link')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('link_id', 'text', (column) => column.notNull())
    .addColumn('named_at', 'text')
    .addColumn('omissions', 'text')
    .addPrimaryKeyConstraint('contract_link_key', ['install', 'contract_id', 'link_id'])
    .execute();
  await db.schema.createIndex('contract_link_by_link').on('contract_link').columns(['install', 'link_id']).execute();
}

async function createParticipations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('participation')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addColumn('absences', 'text')
    .addPrimaryKeyConstraint('participation_key', ['install', 'contract_id', 'trainer_id'])
    .execute();
  // How many contracts a trainer has is asked of one install alone.
  await db.schema
    .createIndex('participation_of_trainer')
    .on('participation')
    .columns(['trainer_id', 'install'])
    .execute();
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
    .addColumn('work_email_domain', 'text')
    .addColumn('work_email_version', 'text')
    .addPrimaryKeyConstraint('person_key', ['install', 'trainer_id'])
    .execute();
  await db.schema.createIndex('person_by_trainer').on('person').column('trainer_id').execute();
  await db.schema
    .createIndex('person_by_address')
    .on('person')
    .column('work_email_digest')
    .where(sql.ref('work_email_digest'), 'is not', null)
    .execute();
}

async function createReadRequests(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('read_request')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('wanted_at', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text', (column) => column.notNull())
    .addColumn('leased_until', 'text')
    .addPrimaryKeyConstraint('read_request_key', ['install', 'contract_id'])
    .execute();
  await db.schema.createIndex('read_request_turn').on('read_request').columns(['install', 'next_attempt_at']).execute();
}
