import { type Migration, Migrator } from 'kysely/migration';
import { type Database, inTransaction, type Transaction } from '../../src/db/database.ts';

/** As a version would have left the database that knew no more than these migrations. */
export async function migrateOnly(database: Database, known: readonly string[]): Promise<void> {
  const migrations: Record<string, Migration> = {};
  for (const name of known) migrations[name] = await import(`../../migrations/${name}.ts`);
  const run = async (db: Transaction | Database['kysely']) => {
    const provider = { getMigrations: async () => migrations };
    const { error } = await new Migrator({ db, provider }).migrateToLatest();
    if (error !== undefined) throw error;
  };
  if (database.dialect === 'postgres') await run(database.kysely);
  else await inTransaction(database, run);
}
