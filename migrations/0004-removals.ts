import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Weaker evidence, why somebody is in a group, and what stands between an end and a removal. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await addRegisters(db);
  await addMembershipColumns(db);
  await createReasons(db);
  await createPlans(db);
  await createRemovals(db);
  await createInstallStates(db);
  await createAudit(db);
  await deriveAll(db);
}

/** Whose memberships they are, and what stands between their ends and their removal, is derived. */
async function deriveAll(db: Kysely<unknown>): Promise<void> {
  await sql`insert into derivation (trainer_id)
    select distinct trainer_id from membership where true on conflict do nothing`.execute(db);
}

async function addRegisters(db: Kysely<unknown>): Promise<void> {
  const columns = {
    contract: ['absences', 'ended_by_operator_at', 'reopened_at', 'participants_read_at'],
    link: ['seen_at', 'absences', 'contracts_read_at'],
    install_grant: ['revoked_received_at', 'active_read_at'],
    participation: ['absences'],
    person: ['work_email_domain'],
  };
  for (const [table, names] of Object.entries(columns)) {
    // One statement each: SQLite adds one column at a time.
    for (const name of names) await db.schema.alterTable(table).addColumn(name, 'text').execute();
  }
  await db.schema.createIndex('link_by_project').on('link').columns(['install', 'external_project_id']).execute();
  await db.schema
    .createIndex('person_by_address')
    .on('person')
    .column('work_email_digest')
    .where(sql.ref('work_email_digest'), 'is not', null)
    .execute();
}

async function addMembershipColumns(db: Kysely<unknown>): Promise<void> {
  const add = db.schema.alterTable('membership');
  await add.addColumn('install', 'text', (column) => column.notNull().defaultTo('')).execute();
  await add.addColumn('cause', 'text').execute();
  await add.addColumn('remove_after', 'text').execute();
  await add.addColumn('cleared_generation', 'integer').execute();

  await db.schema.dropIndex('membership_due').execute();
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
  await db.schema.createIndex('membership_by_install').on('membership').columns(['install', 'state']).execute();
  await db.schema
    .createIndex('membership_by_account')
    .on('membership')
    .columns(['tool', 'member_id'])
    .where(sql.ref('member_id'), 'is not', null)
    .execute();
}

async function createReasons(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('reason')
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('link_id', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('reason_key', ['membership_id', 'install', 'contract_id', 'link_id'])
    .execute();
}

async function createPlans(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);

  await db.schema
    .createTable('plan')
    .addColumn('id', id)
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('decided_at', 'text')
    .execute();
  await db.schema.createIndex('plan_by_install').on('plan').columns(['install', 'state']).execute();

  await db.schema
    .createTable('plan_item')
    .addColumn('plan_id', 'bigint', (column) => column.notNull().references('plan.id'))
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('cause', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text')
    .addPrimaryKeyConstraint('plan_item_key', ['plan_id', 'membership_id'])
    .execute();
}

async function createRemovals(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);

  await db.schema
    .createTable('removal')
    .addColumn('id', id)
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('cause', 'text', (column) => column.notNull())
    .addColumn('clearance', 'text', (column) => column.notNull())
    .addColumn('cleared_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('removal_by_install').on('removal').columns(['install', 'cleared_at']).execute();
}

async function createInstallStates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('install_state')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('held_since', 'text')
    .addColumn('read_wanted_at', 'text')
    .addColumn('read_began_at', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('failure', 'text')
    .execute();
}

async function createAudit(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);

  await db.schema
    .createTable('audit')
    .addColumn('id', id)
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .execute();
}
