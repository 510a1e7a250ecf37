import { type Kysely, PostgresAdapter, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Work that was counted elsewhere, as files of it were imported. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createUsageImports(db);
  await createUsageImportEntries(db);
}

async function createUsageImports(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('usage_import')
    .addColumn('id', id)
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('file_name', 'text', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('kept_until', 'text', (column) => column.notNull())
    .addColumn('counted_at', 'text')
    .addColumn('undone_at', 'text')
    .addColumn('lines', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('people', 'integer')
    .addColumn('first_day', 'text')
    .addColumn('last_day', 'text')
    .execute();
}

async function createUsageImportEntries(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_import_entry')
    .addColumn('import_id', 'bigint', (column) => column.notNull().references('usage_import.id'))
    .addColumn('line', 'bigint', (column) => column.notNull())
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('worked_on_by', 'text', (column) => column.notNull())
    .addColumn('worked_on_id', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('seconds', 'bigint')
    .addColumn('tasks', 'bigint')
    .addColumn('labels', 'bigint')
    .addPrimaryKeyConstraint('usage_import_entry_key', ['import_id', 'line'])
    .modifyEnd(isPostgres(db) ? sql`` : sql`without rowid`)
    .execute();
  await db.schema
    .createIndex('usage_import_entry_by_day')
    .unique()
    .on('usage_import_entry')
    .columns(['day', 'worked_on_by', 'worked_on_id', 'trainer_id', 'import_id'])
    .execute();
  await sql`create index usage_import_entry_by_trainer on usage_import_entry (${trainerOf(db)}, day)`.execute(db);
}

/** In an order that is the same on both databases. */
function trainerOf(db: Kysely<unknown>) {
  return isPostgres(db) ? sql`trainer_id collate "C"` : sql`trainer_id`;
}

function isPostgres(db: Kysely<unknown>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
