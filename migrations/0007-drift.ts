import type { Kysely } from 'kysely';

/** All memberships of a group are compared with what its tool lists. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('membership_by_group').on('membership').columns(['tool', 'group_id']).execute();
}
