import type { Kysely } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Tokens of employers' accounts that are used instead of the tokens that they replaced. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);
  await db.schema
    .createTable('replaced_token')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('token', bytes, (column) => column.notNull())
    .addColumn('token_id', 'text', (column) => column.notNull())
    .addColumn('replaced_id', 'text', (column) => column.notNull())
    .execute();
}
