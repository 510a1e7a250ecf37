import { type Kysely, PostgresAdapter, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Whose an account is, and under which addresses an access was given. */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (db.getExecutor().adapter instanceof PostgresAdapter) {
    await db.schema.alterTable('membership').dropConstraint('membership_key').execute();
  } else {
    await rebuildMembership(db);
  }
  await db.schema
    .createIndex('membership_by_place')
    .on('membership')
    .columns(['trainer_id', 'tool', 'group_id'])
    .execute();
  await db.schema
    .alterTable('reason')
    .addColumn('is_named', 'integer', (column) => column.notNull().defaultTo(1))
    .execute();
  await createAddresses(db);
  await createAccounts(db);
}

/**
 * One trainer may have several memberships in a group: one for each address. SQLite takes a
 * constraint away only with its table, and what refers to that is looked at when all is done.
 */
async function rebuildMembership(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ sql: string }>`select sql from sqlite_master
    where name = 'membership'`.execute(db);
  const indexes = await sql<{ sql: string }>`select sql from sqlite_master
    where tbl_name = 'membership' and type = 'index' and sql is not null`.execute(db);
  const columns = await sql<{
    name: string;
  }>`select name from pragma_table_info('membership')`.execute(db);
  const all = sql.join(columns.rows.map(({ name }) => sql.ref(name)));
  const { seq = 0 } =
    (await sql<{ seq: number }>`select seq from sqlite_sequence where name = 'membership'`.execute(db)).rows[0] ?? {};
  await sql`pragma defer_foreign_keys = on`.execute(db);
  await sql`create table membership_before as select * from membership`.execute(db);
  await sql`drop table membership`.execute(db);
  await sql.raw(withoutKey(rows[0]?.sql ?? '')).execute(db);
  await sql`insert into membership (${all}) select ${all} from membership_before`.execute(db);
  await sql`drop table membership_before`.execute(db);
  // An id is never given out again, also that of a membership which is gone.
  await sql`delete from sqlite_sequence where name = 'membership'`.execute(db);
  await sql`insert into sqlite_sequence (name, seq) values ('membership', ${seq})`.execute(db);
  for (const index of indexes.rows) await sql.raw(index.sql).execute(db);
}

function withoutKey(statement: string): string {
  const without = statement.replace(/,\s*constraint "membership_key" unique \([^)]*\)/i, '');
  if (without === statement) throw new Error('The key of memberships was not found');
  return without;
}

async function createAddresses(db: Kysely<unknown>): Promise<void> {
  const { bytes, id } = columnTypesOf(db);
  await db.schema
    .createTable('membership_address')
    .addColumn('id', id)
    .addColumn('membership_id', 'bigint', (column) => column.notNull().references('membership.id'))
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('work_email', bytes, (column) => column.notNull())
    .addColumn('work_email_digest', 'text', (column) => column.notNull())
    .addColumn('work_email_domain', 'text')
    .addColumn('is_current', 'integer', (column) => column.notNull())
    .addColumn('given_at', 'text')
    .addColumn('ended_at', 'text')
    .addColumn('was_absent', 'integer')
    .execute();
  await db.schema
    .createIndex('membership_address_by_membership')
    .on('membership_address')
    .column('membership_id')
    .execute();
  await db.schema
    .createIndex('membership_address_by_digest')
    .on('membership_address')
    .column('work_email_digest')
    .execute();
  // What was known so far is the address of the install that a membership belongs to.
  await sql`insert into membership_address (membership_id, install, trainer_id, work_email,
      work_email_digest, work_email_domain, is_current, given_at, ended_at)
    select membership.id, person.install, person.trainer_id, person.work_email,
      person.work_email_digest, person.work_email_domain, 1,
      case when membership.is_ours = 1 or exists (select 1 from receipt
        where receipt.membership_id = membership.id and receipt.outcome in ('added', 'invited'))
      then membership.updated_at end,
      case when membership.state in ('removed', 'released') then membership.updated_at end
    from membership join person on person.install = membership.install
      and person.trainer_id = membership.trainer_id
    where person.work_email is not null and person.work_email_digest is not null`.execute(db);
}

async function createAccounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('account')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('is_ours', 'integer', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('account_key', ['tool', 'account_id'])
    .execute();
}
