import { type Kysely, PostgresAdapter, sql } from 'kysely';

/** How long a day of the ledger is in doubt, and what of it waits for somebody to look. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // `is_doubted` is left to what ran before this, and means nothing any more.
  for (const column of ['doubted_until', 'lowering_held_at']) {
    await db.schema.alterTable('usage_ledger').addColumn(column, 'text').execute();
  }
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  // When it was sent that is in doubt is not known: before this, which was.
  const until = isPostgres
    ? sql`to_char((cast(sent_at as timestamptz) + interval '10 minutes') at time zone 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    : sql`strftime('%Y-%m-%dT%H:%M:%fZ', sent_at, '+10 minutes')`;
  await sql`update usage_ledger set doubted_until = ${until} where is_doubted = 1`.execute(db);
  await createFinalReports(db);
  await createTroubles(db);
  await db.schema
    .createIndex('usage_ledger_open')
    .on('usage_ledger')
    .column('day')
    .where(sql.ref('closed_at'), 'is', null)
    .execute();
  await db.schema
    .createIndex('usage_ledger_lowering_held')
    .on('usage_ledger')
    .columns(['install', 'day'])
    .where(sql.ref('lowering_held_at'), 'is not', null)
    .execute();
}

/** What was read before a removal is reported at once; of what was read before this, it has been. */
async function createFinalReports(db: Kysely<unknown>): Promise<void> {
  for (const column of ['reported_at', 'report_after']) {
    await db.schema.alterTable('final_reading').addColumn(column, 'text').execute();
  }
  await sql`update final_reading set reported_at = wanted_at`.execute(db);
  await db.schema
    .createIndex('final_reading_unreported')
    .on('final_reading')
    .column('wanted_at')
    .where(sql.ref('reported_at'), 'is', null)
    .execute();
}

/** What needs somebody, and when that was said last. */
async function createTroubles(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_trouble')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('work', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addColumn('told_at', 'text')
    .addPrimaryKeyConstraint('usage_trouble_key', ['install', 'kind', 'work'])
    .execute();
}
