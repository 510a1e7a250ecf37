import { type Kysely, sql } from 'kysely';

/**
 * Links for everybody that are to be made worthless, how many mails somebody got today, and whom
 * each install has forgotten: one customer's word is not another's.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('link_reset')
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('wanted', 'integer', (column) => column.notNull())
    .addColumn('reset_at', 'text')
    .addColumn('next_attempt_at', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('link_reset_key', ['tool', 'group_id'])
    .execute();

  await db.schema
    .createTable('mailed')
    .addColumn('membership_id', 'bigint', (column) => column.notNull())
    .addColumn('invited_at', 'text', (column) => column.notNull())
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('address_digest', 'text', (column) => column.notNull())
    .addColumn('mailed_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('mailed_key', ['membership_id', 'invited_at'])
    .execute();
  await db.schema.createIndex('mailed_to').on('mailed').columns(['install', 'address_digest', 'mailed_at']).execute();

  await db.schema
    .createTable('forgotten_person')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('forgotten_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('forgotten_person_key', ['trainer_id', 'install'])
    .execute();
  // Whom all had forgotten, each has.
  await sql`insert into forgotten_person (install, trainer_id, forgotten_at)
    select known.install, forgotten.trainer_id, forgotten.forgotten_at
    from forgotten join (
      select install, trainer_id from participation union select install, trainer_id from person
    ) as known on known.trainer_id = forgotten.trainer_id`.execute(db);
}
