import { type Kysely, sql } from 'kysely';

/** What a removal waits for that is due: a reading of its install, or a list of active contracts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const columns = ['removals_held_since', 'active_listed_at', 'list_wanted_at', 'list_due_at'] as const;
  // One statement each: SQLite adds one column at a time.
  for (const name of columns) {
    await db.schema.alterTable('install_state').addColumn(name, 'text').execute();
  }
  // A reading of the whole lists them too.
  await sql`update install_state set active_listed_at = read_began_at`.execute(db);
  await db.schema
    .createTable('awaited_reading')
    .addColumn('membership_id', 'bigint', (column) => column.primaryKey())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('is_explicit', 'integer', (column) => column.notNull())
    .addColumn('since', 'text', (column) => column.notNull())
    .execute();
}
