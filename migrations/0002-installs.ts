import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/**
 * Installs that were connected by command, the webhook endpoints of all and how those are doing; which
 * customer an install is bound to, and a tool to which server.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createConnectedInstalls(db);
  await createWebhookEndpoints(db);
  await createSubscriptions(db);
  await createInstallBindings(db);
  await createToolBindings(db);
}

async function createConnectedInstalls(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);
  await db.schema
    .createTable('connected_install')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('token', bytes, (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('projects', 'text', (column) => column.notNull())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('organization_id', 'text')
    .addColumn('connected_at', 'text', (column) => column.notNull())
    .execute();
}

async function createWebhookEndpoints(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);
  await db.schema
    .createTable('webhook_endpoint')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('endpoint_id', 'text', (column) => column.notNull())
    .addColumn('secret', bytes)
    .addColumn('stored_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('webhook_endpoint_key', ['install', 'endpoint_id'])
    .execute();
}

async function createSubscriptions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('subscription')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('next_check_at', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('checked_at', 'text')
    .addColumn('trouble', 'text')
    .addColumn('creating_since', 'text')
    .addColumn('unmatched_at', 'text')
    .addColumn('enabled_at', 'text', (column) => column.notNull().defaultTo('[]'))
    .execute();
}

async function createInstallBindings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('install_binding')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('organization_id', 'text')
    .addColumn('app_id', 'text')
    .execute();
}

async function createToolBindings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('tool_binding')
    .addColumn('tool', 'text', (column) => column.primaryKey())
    .addColumn('identity', 'text')
    .addColumn('location', 'text')
    .execute();
}
