import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** What an operator was told of, and whether it still stands. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema
    .createTable('alert')
    .addColumn('id', id)
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('about', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('raised_at', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addColumn('is_announced', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('announced_at', 'text')
    .addColumn('over_at', 'text')
    .execute();
  await db.schema.createIndex('alert_digest').on('alert').column('digest').unique().execute();
  await db.schema
    .createIndex('alert_standing')
    .on('alert')
    .columns(['kind', 'id'])
    .where(sql.ref('over_at'), 'is', null)
    .execute();
  await db.schema
    .createIndex('alert_over')
    .on('alert')
    .column('over_at')
    .where(sql.ref('over_at'), 'is not', null)
    .execute();
}
