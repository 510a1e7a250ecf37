import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What is derived from the evidence, and by which accounts and addresses people are in. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createDerivations(db);
  await createMemberships(db);
  await createReasons(db);
  await createMembershipAddresses(db);
  await createAccounts(db);
  await createLeftProjects(db);
}

async function createDerivations(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('derivation')
    .addColumn('arrival', id)
    .addColumn('install', 'text', (column) => column.notNull().defaultTo(''))
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('evidence_at', 'text', (column) => column.notNull().defaultTo(''))
    .addUniqueConstraint('derivation_of_install', ['trainer_id', 'install'])
    .execute();
  await db.schema.createIndex('derivation_turn').on('derivation').columns(['install', 'arrival']).execute();
}

async function createMemberships(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('membership')
    .addColumn('id', id)
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('install', 'text', (column) => column.notNull().defaultTo(''))
    .addColumn('wanted', 'integer', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('member_id', 'text')
    .addColumn('doubted_id', 'text')
    .addColumn('is_ours', 'integer', (column) => column.notNull())
    .addColumn('cause', 'text')
    .addColumn('remove_after', 'text')
    .addColumn('cleared_generation', 'integer')
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at', 'text')
    .addColumn('lease_token', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('look_again', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('late_until', 'text')
    .addColumn('missed_at', 'text')
    .addColumn('failure', 'text')
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('membership_by_seat')
    .on('membership')
    .columns(['trainer_id', 'tool', 'group_id'])
    .execute();
  await db.schema.createIndex('membership_by_group').on('membership').columns(['tool', 'group_id']).execute();
  await db.schema.createIndex('membership_by_install').on('membership').columns(['install', 'state']).execute();
  await db.schema
    .createIndex('membership_by_account')
    .on('membership')
    .columns(['tool', 'member_id'])
    .where(sql.ref('member_id'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('membership_due')
    .on('membership')
    .columns(['tool', 'install', 'next_attempt_at'])
    .where(sql.ref('next_attempt_at'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('membership_to_remove')
    .on('membership')
    .columns(['install', 'remove_after'])
    .where(sql.ref('remove_after'), 'is not', null)
    .execute();
  await db.schema
    .createIndex('membership_orphaned')
    .on('membership')
    .column('id')
    .where(sql.ref('state'), '=', sql.lit('orphaned'))
    .execute();
  await sql`create index membership_unconfirmed on membership (install)
    where late_until is not null or missed_at is not null`.execute(db);
}

async function createReasons(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('reason')
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('link_id', 'text', (column) => column.notNull())
    .addColumn('is_named', 'integer', (column) => column.notNull().defaultTo(1))
    .addPrimaryKeyConstraint('reason_key', ['membership_id', 'install', 'contract_id', 'link_id'])
    .execute();
}

async function createMembershipAddresses(db: Kysely<unknown>): Promise<void> {
  const { bytes, id } = columnTypesOf(db);
  await db.schema
    .createTable('membership_address')
    .addColumn('id', id)
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('work_email', bytes, (column) => column.notNull())
    .addColumn('work_email_digest', 'text', (column) => column.notNull())
    .addColumn('work_email_domain', 'text')
    .addColumn('is_current', 'integer', (column) => column.notNull())
    .addColumn('given_at', 'text')
    .addColumn('ended_at', 'text')
    .addColumn('was_absent', 'integer')
    .execute();
  await db.schema
    .createIndex('membership_address_by_membership')
    .on('membership_address')
    .column('membership_id')
    .execute();
  await db.schema
    .createIndex('membership_address_by_digest')
    .on('membership_address')
    .column('work_email_digest')
    .execute();
}

async function createAccounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('account')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('is_ours', 'integer', (column) => column.notNull())
    .addColumn('trainer_id', 'text')
    .addColumn('made_at', 'text')
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('account_key', ['tool', 'account_id'])
    .execute();
}

async function createLeftProjects(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('left_project')
    .addColumn('membership_id', 'bigint', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('due_at', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'text')
    .addPrimaryKeyConstraint('left_project_key', ['membership_id', 'project'])
    .execute();
}
