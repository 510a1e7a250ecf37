import { type Kysely, sql } from 'kysely';

/** What pages count and list by, so that they do not read whole tables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('membership_by_state')
    .on('membership')
    .columns(['state', 'tool', 'group_id', 'trainer_id', 'id'])
    .execute();
  // Not as a plain condition: SQLite would take `membership_by_state` for it, and sort. Who may leave now has no time.
  await sql`create index membership_leaving on membership
    ((case state when 'held' then 'held' else coalesce(remove_after, '') end), id)
    where state || '' in ('removing', 'held')`.execute(db);
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
  await sql`create index budget_by_remaining on budget ((1 - consumed_fraction), install, contract_id)
    where next_read_at is not null and consumed_fraction is not null`.execute(db);
  await db.schema
    .createIndex('budget_by_state')
    .on('budget')
    .columns(['install', 'state'])
    .where(sql.ref('next_read_at'), 'is not', null)
    .execute();
  await sql`create index budget_failing on budget (install)
    where attempts > 0 or not_found_at is not null`.execute(db);
}
