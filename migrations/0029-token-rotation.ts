import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Tokens of employers' accounts that take the place of others, and since when each instance knows the stored installs. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { bytes } = columnTypesOf(db);
  await db.schema
    .createTable('token_rotation')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('grant_id', 'text', (column) => column.notNull())
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('step', 'text', (column) => column.notNull())
    .addColumn('replaced_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('origin', 'text')
    .addColumn('begun_at', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('attempted_at', 'text')
    .addColumn('token_id', 'text')
    .addColumn('token', bytes)
    .addColumn('replaced_digest', 'text')
    .addColumn('switched_at', 'text')
    .addColumn('settled_at', 'text')
    .addColumn('next_attempt_at', 'text')
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('failure', 'text')
    .execute();
  // An account has one rotation at a time.
  await db.schema
    .createIndex('token_rotation_open')
    .unique()
    .on('token_rotation')
    .column('grant_id')
    .where(sql.ref('settled_at'), 'is', null)
    .execute();
  await db.schema.alterTable('instance').addColumn('installs_loaded_at', 'text').execute();
}
