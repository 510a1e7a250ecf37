import type { Kysely } from 'kysely';

/** Since when a contract is over where no event says so, and whom each install has forgotten. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createContractEnds(db);
  await createForgottenPeople(db);
}

async function createContractEnds(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('contract_end')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('contract_id', 'text', (column) => column.notNull())
    .addColumn('seen_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('contract_end_key', ['install', 'contract_id'])
    .execute();
}

async function createForgottenPeople(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('forgotten_person')
    .addColumn('install', 'text', (column) => column.notNull())
    .addColumn('trainer_id', 'text', (column) => column.notNull())
    .addColumn('forgotten_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('forgotten_person_key', ['trainer_id', 'install'])
    .execute();
}
