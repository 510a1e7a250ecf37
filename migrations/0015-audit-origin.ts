import type { Kysely } from 'kysely';

/** From where an operator acted, and what an act changed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('audit')
    .addColumn('origin', 'text', (column) => column.notNull().defaultTo('command line'))
    .execute();
  for (const name of ['before', 'after']) {
    await db.schema.alterTable('audit').addColumn(name, 'text').execute();
  }
}
