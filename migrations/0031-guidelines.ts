import type { Kysely } from 'kysely';

/** What was written as guidelines into the projects of tools, and when the publications of installs are read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('guideline')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('manual_id', 'text')
    .addColumn('publication_number', 'integer')
    .addColumn('sent_digest', 'text')
    .addColumn('words_digest', 'text')
    .addColumn('before_digest', 'text')
    .addColumn('held_digest', 'text')
    .addColumn('written_at', 'text')
    .addColumn('looked_at', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('since', 'text', (column) => column.notNull())
    .addColumn('says', 'text')
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('guideline_key', ['tool', 'project'])
    .execute();
  await db.schema
    .createTable('guideline_reading')
    .addColumn('install', 'text', (column) => column.primaryKey())
    .addColumn('next_read_at', 'text', (column) => column.notNull())
    .addColumn('leased_until', 'text')
    .addColumn('read_at', 'text')
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('failure', 'text')
    .execute();
}
