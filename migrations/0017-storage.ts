import { type Kysely, sql } from 'kysely';

/** How much each install has stored, counted where it is written and where it is deleted. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('install_storage')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('install_storage_key', ['install', 'part'])
    .execute();
  // As `bytesOf` in `storage-store.ts` counts a row, with the overhead that it had then.
  await sql`insert into install_storage (install, part, bytes)
    select install, 0, sum(octet_length(body) + octet_length(headers) + 512)
    from delivery group by install`.execute(db);
}
