import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What holds between processes: locks, which instances run; and what operators decided. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createNamedLocks(db);
  await createInstances(db);
  await createAudit(db);
}

async function createNamedLocks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('named_lock')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('token', 'text', (column) => column.notNull())
    .addColumn('leased_until', 'text', (column) => column.notNull())
    .execute();
}

async function createInstances(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('instance')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('started_at', 'text', (column) => column.notNull())
    .addColumn('beat_at', 'text', (column) => column.notNull())
    .addColumn('stopped_at', 'text')
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
