import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Which installs are to be read or listed, what waits for that, and every reading and what came of it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createInstallStates(db);
  await createRuns(db);
}

async function createInstallStates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('install_state')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('held_since', 'text')
    .addColumn('removals_held_since', 'text')
    .addColumn('read_wanted_at', 'text')
    .addColumn('read_wanted_by', 'text')
    .addColumn('read_began_at', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('next_attempt_at', 'text')
    .addColumn('leased_until', 'text')
    .addColumn('failure', 'text')
    .addColumn('list_wanted_at', 'text')
    .addColumn('list_due_at', 'text')
    .addColumn('active_listed_at', 'text')
    .execute();
}

async function createRuns(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('run')
    .addColumn('id', id)
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('trigger', 'text', (column) => column.notNull())
    .addColumn('began_at', 'text', (column) => column.notNull())
    .addColumn('after_receipt', 'bigint', (column) => column.notNull())
    .addColumn('read_at', 'text')
    .addColumn('ended_at', 'text')
    .addColumn('outcome', 'text')
    .addColumn('contracts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('added', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('removed', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('held', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failed', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failure', 'text')
    .execute();
  await db.schema.createIndex('run_by_install').on('run').columns(['install', 'began_at']).execute();
  await db.schema.createIndex('run_open').on('run').column('install').where(sql.ref('ended_at'), 'is', null).execute();
}
