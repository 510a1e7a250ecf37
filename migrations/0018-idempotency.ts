import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What an act by the API was answered with, for a day: the same request under the same key gets it again. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { bytes, id } = columnTypesOf(db);
  await db.schema
    .createTable('kept_answer')
    .addColumn('id', id)
    // Keyed digests of the operator with the key, and of the request.
    .addColumn('key_digest', 'text', (column) => column.notNull().unique())
    .addColumn('request_digest', 'text', (column) => column.notNull())
    .addColumn('answer', bytes)
    .addColumn('begun_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('kept_answer_begun').on('kept_answer').column('begun_at').execute();
}
