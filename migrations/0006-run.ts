import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Every reading of a whole install: who wanted it, and what came of it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);

  await db.schema.alterTable('install_state').addColumn('read_wanted_by', 'text').execute();

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
