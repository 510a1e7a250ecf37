import type { Kysely } from 'kysely';

/** The recorded reasons of an install's open contracts, which each reading compares with who is on them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('reason_of_contract').on('reason').columns(['install', 'contract_id']).execute();
}
