import { mkdirSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { CamelCasePlugin, Kysely, PostgresDialect, SqliteDialect, sql } from 'kysely';
import pg from 'pg';
import { AppError, toAppError } from '../domain/errors.ts';
import { retry } from '../lib/retry.ts';
import { withCachedStatements } from './cached-statements.ts';
import type { Tables } from './tables.ts';

/**
 * The one place that knows which database it is. SQLite and PostgreSQL run the same migrations and
 * the same queries; what differs is said by `dialect` and stays in this folder and the stores.
 */
export interface Database {
  readonly dialect: 'sqlite' | 'postgres';
  readonly url: string;
  readonly kysely: Kysely<Tables>;
  close(): Promise<void>;
}

/** Inside `inTransaction`: its queries commit or roll back together. */
export type Transaction = Kysely<Tables>;

/**
 * How long SQLite may wait for another writer while it holds this thread. Short: the waiting is
 * done by `inTransaction`, which leaves the thread to others.
 */
const sqliteBusyTimeoutMs = 5;
const postgresPoolSize = 10;
const int8Oid = 20;

/** @param url `sqlite:<path>` (a file, or `:memory:`) or `postgres://…` */
export function openDatabase(url: string): Database {
  if (url.startsWith('sqlite:')) return openSqlite(url);
  if (/^postgres(ql)?:/.test(url)) return openPostgres(url);
  throw new AppError('invalid', 'database.url must begin with sqlite: or postgres://');
}

/** The file behind `sqlite:<path>`; undefined for other databases and for memory. */
export function sqliteFileOf(url: string): string | undefined {
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ':memory:';
  return file === ':memory:' ? undefined : file;
}

function openSqlite(url: string): Database {
  const file = sqliteFileOf(url);
  if (file !== undefined) mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const sqlite = new SqliteDatabase(file ?? ':memory:', { timeout: 5000 });
  // Only a database without tables can still choose how it gives space back.
  sqlite.pragma('auto_vacuum = INCREMENTAL');
  sqlite.pragma('journal_mode = WAL');
  // A commit that was answered for must outlive a power cut, not only a crash of the process.
  sqlite.pragma('synchronous = FULL');
  sqlite.pragma('foreign_keys = ON');
  sqlite.pragma('cache_size = -65536');
  // A checkpoint writes each changed page once, so fewer of them write less.
  sqlite.pragma('wal_autocheckpoint = 8000');
  sqlite.pragma(`busy_timeout = ${sqliteBusyTimeoutMs}`);
  const kysely = new Kysely<Tables>({
    dialect: new SqliteDialect({ database: withCachedStatements(sqlite) }),
    plugins: [new CamelCasePlugin()],
  });
  return {
    dialect: 'sqlite',
    url,
    kysely,
    async close() {
      await kysely.destroy();
      sqlite.close();
    },
  };
}

function openPostgres(url: string): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: postgresPoolSize,
    connectionTimeoutMillis: 5000,
    statement_timeout: 15_000,
    idle_in_transaction_session_timeout: 15_000,
    application_name: 'gangway',
    types: { getTypeParser: typeParserOf },
  });
  // A connection that breaks while idle is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => undefined);
  const kysely = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    plugins: [new CamelCasePlugin()],
  });
  return { dialect: 'postgres', url, kysely, close: () => kysely.destroy() };
}

/** Counters and ids stay below 2^53, so they may be numbers as they are on SQLite. */
const typeParserOf: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === int8Oid ? Number : pg.types.getTypeParser(oid, format);

interface TransactionOptions {
  signal?: AbortSignal;
  /** How long to try while others hold what is needed. */
  patienceMs?: number;
}

/**
 * Runs `work` in one transaction, again from its beginning when another writer was in the way
 * (busy, deadlock, serialisation). `work` must therefore do nothing but queries on `tx`.
 *
 * @throws AppError `unavailable` when the database could not be reached or stayed busy
 */
export async function inTransaction<T>(
  database: Database,
  work: (tx: Transaction) => Promise<T>,
  { signal, patienceMs = 5000 }: TransactionOptions = {},
): Promise<T> {
  const attempt = database.dialect === 'sqlite' ? runOnSqlite : runOnPostgres;
  const deadline = performance.now() + patienceMs;
  return await retry(
    async () => {
      try {
        return await attempt(database, work);
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
    {
      attempts: 1000,
      firstWaitMs: 2,
      maxWaitMs: 25,
      signal,
      isWorthRetrying: (error) => isCollision(error.cause) && performance.now() < deadline,
    },
  );
}

/** Takes the write lock at the beginning: upgrading a read later fails at once when another wrote. */
async function runOnSqlite<T>(
  { kysely }: Database,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return await kysely.connection().execute(async (connection) => {
    await sql`begin immediate`.execute(connection);
    try {
      const result = await work(connection);
      await sql`commit`.execute(connection);
      return result;
    } catch (error) {
      await sql`rollback`.execute(connection).catch(() => undefined);
      throw error;
    }
  });
}

async function runOnPostgres<T>(
  { kysely }: Database,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return await kysely.transaction().execute(work);
}

const collisionCodes = new Set(['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', '40001', '40P01', '55P03']);

function isCollision(error: unknown): boolean {
  return collisionCodes.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '');
}

/** Collisions, lost connections and full disks pass; anything else is a fault of ours. */
function toDatabaseError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  const isPassing =
    collisionCodes.has(code) ||
    /^(SQLITE_(FULL|IOERR|CANTOPEN)|E[A-Z]+$|08|53|57P)/.test(code) ||
    /timeout|terminated|connection/i.test(toAppError(error).message);
  if (!isPassing) return toAppError(error);
  return new AppError(
    'unavailable',
    `The database could not be used (${code || 'no connection'})`,
    {
      cause: error,
    },
  );
}
