import { type Kysely, sql } from 'kysely';

/** Who decided that a member stays, so that members without a decision can be listed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('membership').addColumn('released_by', 'text').execute();
  // As the query has it: SQLite uses a partial index only for the same condition.
  await sql`create index membership_undecided on membership (state, wanted)
    where is_ours = 0 and released_by is null and state in ('active', 'invited', 'released')`.execute(db);
}
