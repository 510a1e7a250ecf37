import { type Kysely, sql } from 'kysely';

/**
 * From here on the key of a delivery begins with a time (src/inbox/body-key.ts). The deliveries that are there keep
 * theirs, and up to the last of them a repeat is looked for by it too: to give millions of rows another key would take
 * minutes, and they are gone after `retention.deliveries`. The ids of the sender were the other random pages.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`insert into setting (name, value)
    select 'last_digest_key', cast(coalesce(max(id), 0) as text) from delivery`.execute(db);
  await db.schema.dropIndex('delivery_sender_id').execute();
}
