import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { CamelCasePlugin, Kysely, SqliteDialect, sql } from 'kysely';
import { withCachedStatements } from './cached-statements.ts';
import type { Database, OpenOptions, Transaction } from './database.ts';
import type { Tables } from './tables.ts';

/** The file behind `sqlite:<path>`; undefined for other databases and for memory. */
export function sqliteFileOf(url: string): string | undefined {
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ':memory:';
  return file === ':memory:' ? undefined : file;
}

/**
 * Enough for the inner pages of large indexes; memory is taken as it is needed. The thread that
 * stores deliveries has the largest, by random keys.
 */
const cacheKiB = { usual: 24 * 1024, ownThread: 128 * 1024 };
const longestLogPages = 50_000;

/**
 * SQLite works in the thread that calls it. A thread that has other things to do never waits for
 * another writer: `inTransaction` does, leaving the thread free. The log is kept short by the
 * checkpointer; only where that does not run will a commit have to do it.
 */
export function openSqlite(url: string, { ownsThread = false }: OpenOptions): Database {
  const file = sqliteFileOf(url);
  if (file !== undefined) createPrivately(file);
  const sqlite = new SqliteDatabase(file ?? ':memory:', { timeout: 5000 });
  // Only a database without tables can still choose how it gives space back. To set it takes the write
  // lock, for which one that has chosen need not wait.
  const hasChosen = Number(sqlite.pragma('page_count', { simple: true })) > 0;
  if (!hasChosen) sqlite.pragma('auto_vacuum = INCREMENTAL');
  sqlite.pragma('journal_mode = WAL');
  // What is cleared is to be gone from the file too, as far as that costs no writing of its own.
  sqlite.pragma('secure_delete = FAST');
  sqlite.pragma('foreign_keys = ON');
  sqlite.pragma(`cache_size = -${ownsThread ? cacheKiB.ownThread : cacheKiB.usual}`);
  sqlite.pragma(`wal_autocheckpoint = ${longestLogPages}`);
  sqlite.pragma(`busy_timeout = ${ownsThread ? 5000 : 0}`);
  const kysely = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: withCachedStatements(sqlite) }),
    plugins: [new CamelCasePlugin()],
  });
  let isSetDurable: boolean | undefined;
  function setDurable(isDurable: boolean): void {
    if (isDurable !== isSetDurable) sqlite.pragma(`synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`);
    isSetDurable = isDurable;
  }
  return {
    dialect: 'sqlite',
    url,
    kysely,
    transact: (work, isDurable) =>
      kysely.connection().execute(async (connection) => {
        setDurable(isDurable);
        return await runImmediate(connection, work);
      }),
    async close() {
      await kysely.destroy();
      sqlite.close();
    },
  };
}

/** For its owner only; SQLite gives its log the mode of the database. */
export function createPrivately(file: string): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
}

/** Takes the write lock at the beginning: upgrading a read later fails at once when another wrote. */
async function runImmediate<T>(connection: Kysely<Tables>, work: (tx: Transaction) => Promise<T>): Promise<T> {
  await sql`begin immediate`.execute(connection);
  try {
    const result = await work(connection);
    await sql`commit`.execute(connection);
    return result;
  } catch (error) {
    await sql`rollback`.execute(connection).catch(() => undefined);
    throw error;
  }
}
