import { type Kysely, sql } from 'kysely';

/** What tells whether an id of a tool still means the same account, and those of which it is in doubt. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('membership').addColumn('doubted_id', 'text').execute();
  await db.schema.alterTable('account').addColumn('trainer_id', 'text').execute();
  await db.schema.alterTable('account').addColumn('made_at', 'text').execute();
  // Of what several trainers have, nobody can say whose it was.
  await sql`update account set trainer_id = (
    select min(membership.trainer_id) from membership
    where membership.tool = account.tool and membership.member_id = account.account_id
    having count(distinct membership.trainer_id) = 1)`.execute(db);
}
