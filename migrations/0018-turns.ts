import { type Kysely, sql } from 'kysely';
import { columnTypesOf } from '../src/db/column-types.ts';

/** Who waits, by the install on whose word, in the order of arrival: so that installs take turns. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createDerivations(db);
  await createTurns(db);
  await createCounting(db);
}

/** What is queued already has no install: it takes its turn as one of its own. */
async function createDerivations(db: Kysely<unknown>): Promise<void> {
  const { id } = columnTypesOf(db);
  await db.schema.alterTable('derivation').renameTo('derivation_before').execute();
  await db.schema
    .createTable('derivation')
    // Not `id`: an older version beside this one joins it with tables that have one.
    .addColumn('arrival', id)
    .addColumn('install', 'text', (column) => column.notNull().defaultTo(''))
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('evidence_at', 'text', (column) => column.notNull().defaultTo(''))
    .addUniqueConstraint('derivation_of_install', ['trainer_id', 'install'])
    .execute();
  await db.schema.createIndex('derivation_turn').on('derivation').columns(['install', 'arrival']).execute();
  await sql`insert into derivation (trainer_id)
    select trainer_id from derivation_before order by trainer_id`.execute(db);
  await db.schema.dropTable('derivation_before').execute();
}

async function createTurns(db: Kysely<unknown>): Promise<void> {
  // Partial, so that it stays small however many deliveries lie handled.
  await db.schema
    .createIndex('delivery_turn')
    .on('delivery')
    .columns(['install', 'id', 'next_attempt_at'])
    .where(sql.ref('next_attempt_at'), 'is not', null)
    .execute();
  // Nothing looks for what is due of all installs together any more.
  await db.schema.dropIndex('delivery_due').execute();
  await db.schema.createIndex('read_request_turn').on('read_request').columns(['install', 'next_attempt_at']).execute();
}

/** How many contracts a trainer has is asked of one install alone. */
async function createCounting(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('participation_of_trainer')
    .on('participation')
    .columns(['trainer_id', 'install'])
    .execute();
  await db.schema.dropIndex('participation_by_trainer').execute();
}
