import { type Kysely, sql } from 'kysely';

/**
 * What work stays counted, what was lowered, which places a removal waits for, and what keeps a
 * place from being read.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await addTexts(db, 'usage_item', ['skipped_task_id']);
  await addTexts(db, 'usage_ledger', ['lowered_at', 'lowered_from']);
  await db.schema
    .createIndex('usage_ledger_lowered')
    .on('usage_ledger')
    .columns(['install', 'lowered_at'])
    .where(sql.ref('lowered_at'), 'is not', null)
    .execute();
  await addTexts(db, 'usage_person', ['fallen_since']);
  await addTexts(db, 'usage_place', ['failing_since', 'gone_since', 'told_at', 'gap', 'gap_since']);
  await db.schema
    .createTable('final_reading_place')
    .addColumn('membership_id', 'bigint', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('final_reading_place_key', ['membership_id', 'tool', 'scope'])
    .execute();
}

async function addTexts(db: Kysely<unknown>, table: string, columns: string[]): Promise<void> {
  for (const column of columns) {
    await db.schema.alterTable(table).addColumn(column, 'text').execute();
  }
}
