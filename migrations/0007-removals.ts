import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What stands between an end and a removal: the brake and its plans, and the readings that a removal waits for. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createPlans(db);
  await createPlanItems(db);
  await createRemovals(db);
  await createRemovalTotals(db);
  await createAwaitedReadings(db);
  await createFinalReadings(db);
  await createFinalReadingScopes(db);
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
}

async function createPlanItems(db: Kysely<unknown>): Promise<void> {
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

async function createRemovalTotals(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('removal_total')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('removed', 'bigint', (column) => column.notNull())
    .execute();
}

async function createAwaitedReadings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('awaited_reading')
    .addColumn('membership_id', 'bigint', (column) => column.primaryKey())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('is_explicit', 'integer', (column) => column.notNull())
    .addColumn('since', 'text', (column) => column.notNull())
    .execute();
}

async function createFinalReadings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('final_reading')
    .addColumn('membership_id', 'bigint', (column) => column.primaryKey())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('wanted_at', 'text', (column) => column.notNull())
    .addColumn('is_unread', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('reported_at', 'text')
    .addColumn('report_after', 'text')
    .execute();
  await db.schema
    .createIndex('final_reading_unreported')
    .on('final_reading')
    .column('wanted_at')
    .where(sql.ref('reported_at'), 'is', null)
    .execute();
}

async function createFinalReadingScopes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('final_reading_scope')
    .addColumn('membership_id', 'bigint', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('final_reading_scope_key', ['membership_id', 'tool', 'scope'])
    .execute();
}
