import type { Kysely } from 'kysely';

/** Where a delivery, and what follows from it in a tool, belongs in a trace: a W3C `traceparent`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('delivery').addColumn('trace_context', 'text').execute();
  await db.schema.alterTable('membership').addColumn('trace_context', 'text').execute();
}
