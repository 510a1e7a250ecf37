import { sql } from 'kysely';
import { type MigrationResult, Migrator } from 'kysely/migration';
import { initial } from '../../migrations/0001-initial.ts';
import { hires } from '../../migrations/0002-hires.ts';
import { AppError } from '../domain/errors.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { readSetting, writeSetting } from './setting-store.ts';
import { writeStatistics } from './sqlite-statistics.ts';

/** Each as statements of SQL, in the words of `dialectWords`. Append-only: a migration that is released never changes. */
export const migrations: Readonly<Record<string, string>> = { '0001-initial': initial, '0002-hires': hires };

const dialectWords = {
  sqlite: {
    TEXT: 'text',
    BYTES: 'blob',
    COUNTER: 'integer primary key autoincrement',
    'without rowid': 'without rowid',
  },
  postgres: {
    // Sorted by bytes, as SQLite does. The locale of a database would sort otherwise.
    TEXT: 'text collate "C"',
    BYTES: 'bytea',
    COUNTER: 'bigint generated always as identity primary key',
    'without rowid': '',
  },
};

/**
 * The compatibility number of the tables. A migration raises it if older versions cannot work with its tables. A new column
 * or table does not.
 */
export const compatibility = 1;

/**
 * Migrates the database to the tables of this version. It may be repeated. If several instances start at the same time,
 * one of them migrates.
 *
 * @returns the names of the migrations that were run
 * @throws AppError `conflict` if a newer version has made the database unreadable for this one
 */
export async function migrate(database: Database, all = migrations): Promise<string[]> {
  const run = (db: Transaction) => runMigrations(database, db, all);
  // Kysely locks PostgreSQL by itself. On SQLite, a transaction around everything locks.
  const executed =
    database.dialect === 'postgres'
      ? await run(database.kysely)
      : await inTransaction(database, run, { patienceMs: 60_000 });
  await inTransaction(database, async (tx) => {
    await checkCompatibility(tx);
    if (database.dialect === 'sqlite') await writeStatistics(tx);
  });
  return executed;
}

/**
 * The names of the migrations that this version would run. It changes nothing. Every command begins with this, and Kysely
 * would look at every column of every table to tell.
 */
export async function listPending(dialect: Database['dialect'], db: Transaction, all = migrations): Promise<string[]> {
  const names = Object.keys(all);
  const { rows: found } = await findTable[dialect].execute(db);
  if (found.length === 0) return names;
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  const executed = new Set(rows.map(({ name }) => name));
  return names.filter((name) => !executed.has(name));
}

const findTable = {
  sqlite: sql`select name from sqlite_master where name = 'kysely_migration'`,
  postgres: sql`select oid from pg_class where oid = to_regclass('kysely_migration')`,
};

async function runMigrations({ dialect }: Database, db: Transaction, all: typeof migrations): Promise<string[]> {
  // Kysely would refuse a database with migrations of a newer version. Here `compatibility` decides that.
  if ((await listPending(dialect, db, all)).length === 0) return [];
  const words: Record<string, string> = dialectWords[dialect];
  const toMigration = (text: string) => ({
    async up(tx: Transaction) {
      const statements = text.replaceAll(/\b(TEXT|BYTES|COUNTER|without rowid)\b/g, (word) => words[word] ?? word);
      for (const statement of statements.split(/;\n/)) {
        if (statement.trim() !== '') await sql.raw(statement).execute(tx);
      }
    },
  });
  const provided = Object.fromEntries(Object.entries(all).map(([name, text]) => [name, toMigration(text)]));
  const migrator = new Migrator({ db, provider: { getMigrations: async () => provided } });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const name = results.find((result) => result.status === 'Error')?.migrationName ?? 'unknown';
    throw new AppError('internal', `Migration ${name} failed`, { cause: error });
  }
  return results.map((result: MigrationResult) => result.migrationName);
}

async function checkCompatibility(tx: Transaction): Promise<void> {
  const stored = await refuseNewer(tx);
  if (stored < compatibility) await writeSetting(tx, 'compatibility', String(compatibility));
}

/**
 * Checks the version of the database and changes nothing.
 *
 * @returns the compatibility number of the version that wrote last; 0 for a new database
 * @throws AppError `conflict` if a newer version has made the database unreadable for this one
 */
export async function refuseNewer(tx: Transaction): Promise<number> {
  const stored = Number((await readSetting(tx, 'compatibility')) ?? 0);
  if (stored <= compatibility) return stored;
  throw new AppError(
    'conflict',
    'This database was written by a newer version of Gangway: start that version, or restore a backup from before the upgrade',
  );
}
