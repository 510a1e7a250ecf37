import { type Kysely, sql } from 'kysely';

/** Until when a call may still arrive of which nobody knows the end, and who was missed by one look. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('membership').addColumn('late_until', 'text').execute();
  await db.schema.alterTable('membership').addColumn('missed_at', 'text').execute();
  await sql`create index membership_unconfirmed on membership (install)
    where late_until is not null or missed_at is not null`.execute(db);
}
