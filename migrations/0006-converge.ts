import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What was meant and done in the tools, how people get in who have no login yet, and which tools are left alone. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createIntents(db);
  await createReceipts(db);
  await createInvitations(db);
  await createMailed(db);
  await createLinkResets(db);
  await createToolTroubles(db);
}

async function createIntents(db: Kysely<unknown>): Promise<void> {
  const { bytes, id } = columnTypesOf(db);
  await db.schema
    .createTable('intent')
    .addColumn('id', id)
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('was_found', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('credential', bytes)
    .execute();
  await db.schema.createIndex('intent_by_membership').on('intent').column('membership_id').execute();
}

async function createReceipts(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('receipt')
    .addColumn('id', id)
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('tool_status', 'integer')
    .addColumn('message', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('receipt_by_membership').on('receipt').column('membership_id').execute();
}

async function createInvitations(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);
  await db.schema
    .createTable('invitation')
    .addColumn('membership_id', 'bigint', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('content', bytes)
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('delivered_at', 'text')
    .addColumn('delivered_by', 'text')
    .addColumn('is_renewal_wanted', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text')
    .addColumn('failure', 'text')
    .execute();
  await db.schema.createIndex('invitation_due').on('invitation').column('next_attempt_at').execute();
}

async function createMailed(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('mailed')
    .addColumn('membership_id', 'bigint', (column) => column.notNull())
    .addColumn('invited_at', 'text', (column) => column.notNull())
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('address_digest', 'text', (column) => column.notNull())
    .addColumn('mailed_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('mailed_key', ['membership_id', 'invited_at'])
    .execute();
  await db.schema.createIndex('mailed_to').on('mailed').columns(['install', 'address_digest', 'mailed_at']).execute();
}

async function createLinkResets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('link_reset')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('wanted', 'integer', (column) => column.notNull())
    .addColumn('reset_at', 'text')
    .addColumn('next_attempt_at', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('link_reset_key', ['tool', 'group_id'])
    .execute();
}

async function createToolTroubles(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('tool_trouble')
    .addColumn('tool', 'text', (column) => column.primaryKey())
    .addColumn('error_code', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('since', 'text', (column) => column.notNull())
    .addColumn('asks_again_at', 'text', (column) => column.notNull())
    .execute();
}
