import { type Kysely, sql } from 'kysely';

/**
 * What pages count and list by, so that they do not read whole tables; and when each budget is used up at the pace at
 * which it was last read.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('membership_by_state')
    .on('membership')
    .columns(['state', 'tool', 'group_id', 'trainer_id', 'id'])
    .execute();
  // Not as a plain condition: SQLite would take `membership_by_state` for it, and sort. Who may leave now has no time.
  await sql`create index membership_leaving on membership ((coalesce(remove_after, '')), id)
    where state || '' = 'removing'`.execute(db);
  await createBudgetIndexes(db);
  // None of its rows is of a delivery that was handled without trouble, so receiving costs no more.
  await db.schema
    .createIndex('delivery_troubled')
    .on('delivery')
    .columns(['state', 'id'])
    .where(sql.ref('failure'), 'is not', null)
    .execute();
  await sql`create index contract_contradicted on contract (install, contract_id)
    where ended_event_at is not null and ended_read_at is null`.execute(db);
}

async function createBudgetIndexes(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('budget').addColumn('runs_out_at', 'text').execute();
  await sql`create index budget_running_out on budget (runs_out_at, install, contract_id)
    where runs_out_at is not null and next_read_at is not null`.execute(db);
  await db.schema
    .createIndex('budget_by_state')
    .on('budget')
    .columns(['install', 'state'])
    .where(sql.ref('next_read_at'), 'is not', null)
    .execute();
  await sql`create index budget_failing on budget (install)
    where attempts > 0 or not_found_at is not null`.execute(db);
}
