import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import SqliteDatabase from 'better-sqlite3';
import { CompiledQuery, Kysely, type SqliteDatabase as KyselySqlite } from 'kysely';
import { AppError } from '../domain/errors.ts';
import { createChangeNotice } from './change-notice.ts';
import { createGroupCommit } from './commit-together.ts';
import { type Database, isCollision, type Transaction } from './database.ts';
import { readDisk } from './disk.ts';
import type { Tables } from './schema.ts';
import { RowsInCamelCase, SnakeCaseSqliteDialect } from './snake-case.ts';
import { createSyncedLog, type SyncFile } from './sqlite-log.ts';
import { createWriteTurns, endTurn, giveWay, takeFirst, type WriteTurns } from './write-turns.ts';

export interface OpenOptions {
  /** Whether this thread has no other work. It may block for the database, and goes first when both threads write. */
  ownsThread?: boolean;
  /** The turns of the other thread that writes to the same file. */
  writeTurns?: WriteTurns;
  /** How the log is written to the disk. */
  sync?: SyncFile;
}

/** The file of a SQLite database; undefined for one in memory and for PostgreSQL. */
export function sqliteFileOf(url: string): string | undefined {
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : ':memory:';
  return file === ':memory:' ? undefined : file;
}

/**
 * Enough for the inner pages of large indexes. SQLite takes the memory as it needs it. The thread that stores deliveries has
 * a smaller cache, because a commit that has split a page goes through the whole cache.
 */
const cacheKiB = { usual: 12 * 1024, ownThread: 8 * 1024 };
const longestLogPages = 50_000;

/**
 * SQLite blocks the thread that calls it. A thread with other work must not block for another writer, so `inTransaction`
 * waits instead. Nor for the disk: a durable commit gives the lock back, and then waits without blocking. The checkpointer
 * keeps the log short; without it, a commit does that.
 */
export function openSqlite(
  url: string,
  { ownsThread = false, writeTurns = createWriteTurns(), sync }: OpenOptions,
): Database {
  const file = sqliteFileOf(url);
  const sqlite = openFile(file);
  const checkFile = createFileCheck(file);
  // Deleted content is overwritten in the file too, where that needs no extra write.
  sqlite.pragma('secure_delete = FAST');
  sqlite.pragma('foreign_keys = ON');
  sqlite.pragma(`cache_size = -${ownsThread ? cacheKiB.ownThread : cacheKiB.usual}`);
  sqlite.pragma(`wal_autocheckpoint = ${longestLogPages}`);
  sqlite.pragma('busy_timeout = 0');
  sqlite.pragma('synchronous = NORMAL');
  let hasWritten = false;
  const notice = createChangeNotice(() => {
    hasWritten = true;
  });
  const kysely = new Kysely<Tables>({
    dialect: new SnakeCaseSqliteDialect({ database: withKeptStatements(sqlite) }),
    plugins: [new RowsInCamelCase(), notice.plugin],
  });
  const log = file === undefined ? undefined : createSyncedLog(sqlite, file, sync);

  async function transact<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    if (!ownsThread) await giveWay(writeTurns);
    return await kysely.connection().execute(async (connection) => {
      log?.mend();
      const take = () => connection.executeQuery(begin);
      if (ownsThread) await takeFirst(writeTurns, take, isCollision);
      else await take();
      return await notice.within(() => runBegun(connection, work)).finally(() => endTurn(writeTurns));
    });
  }

  const transactAlone: Database['transact'] = async (work, isDurable) => {
    const result = await transact(work);
    if (isDurable) await log?.sync();
    return result;
  };

  return {
    dialect: 'sqlite',
    url,
    kysely,
    writeTurns,
    // The thread that stores deliveries has put many into one work.
    transact: ownsThread ? transactAlone : createGroupCommit(transact, async () => log?.sync()),
    watch(onChange, everyMs) {
      let version = readVersion(sqlite);
      const timer = setInterval(() => {
        const seen = readVersion(sqlite);
        if (!hasWritten && seen === version) return;
        version = seen;
        hasWritten = false;
        onChange();
      }, everyMs);
      return { stop: async () => clearInterval(timer) };
    },
    checkFile,
    async close() {
      log?.close();
      await kysely.destroy();
      sqlite.close();
    },
  };
}

/** The log of SQLite is in the memory that the processes of one machine share. */
export function refuseNetwork(file: string, disk = readDisk(file)): void {
  if (disk?.network === undefined) return;
  const advice = 'Set database.url to a file on a disk of this machine, or to PostgreSQL';
  throw new AppError('invalid', `SQLite cannot use ${file} safely, because it is on ${disk.network}. ${advice}`);
}

/** @throws AppError `unavailable` if the file or its folder cannot be used */
function openFile(file: string | undefined): SqliteDatabase.Database {
  if (file !== undefined) refuseNetwork(file);
  try {
    if (file !== undefined) createPrivately(file);
    const sqlite = new SqliteDatabase(file ?? ':memory:', { timeout: 5000 });
    // Only a database without tables takes this setting. Setting it would wait for other writers.
    const isNew = sqlite.pragma('page_count', { simple: true }) === 0;
    if (isNew) sqlite.pragma('auto_vacuum = INCREMENTAL');
    sqlite.pragma('journal_mode = WAL');
    return sqlite;
  } catch (cause) {
    const { code = '', message } = cause as NodeJS.ErrnoException;
    if (!/^(E[A-Z]+|SQLITE_(CANTOPEN|READONLY|PERM).*)$/.test(code)) throw cause;
    const advice = 'Set database.url to a file in a folder that this user can write';
    throw new AppError('unavailable', `Could not open the database ${file}: ${message}. ${advice}`, { cause });
  }
}

/**
 * SQLite goes on with files that were deleted. The log is recorded at the first check, because it stays the same file only
 * from the first query on.
 */
function createFileCheck(file: string | undefined): () => void {
  const opened = new Map<string, string>();
  function isLost(name: string): boolean {
    const stat = statSync(name, { throwIfNoEntry: false });
    const found = stat && `${stat.dev}/${stat.ino}`;
    if (found !== undefined && !opened.has(name)) opened.set(name, found);
    return found !== opened.get(name);
  }
  const files = file === undefined ? [] : [file, `${file}-wal`];
  function checkFile(): void {
    const lost = files.find(isLost);
    if (lost === undefined) return;
    const advice = 'Stop Gangway, run "gangway restore" with a backup, and start it';
    throw new AppError('unavailable', `${lost} was deleted or replaced while the database was open. ${advice}`);
  }
  if (file !== undefined) isLost(file);
  return checkFile;
}

/** The version changes when another connection writes, of this process or another. */
function readVersion(sqlite: SqliteDatabase.Database): unknown {
  try {
    return sqlite.pragma('data_version', { simple: true });
  } catch {
    return undefined;
  }
}

/** Creates the file for its owner only. SQLite gives its log the same mode. */
export function createPrivately(file: string): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
}

/** Takes the write lock at once, because a later upgrade fails if another process has written. */
const begin = CompiledQuery.raw('begin immediate');
const [commit, rollback] = [CompiledQuery.raw('commit'), CompiledQuery.raw('rollback')];

async function runBegun<T>(connection: Kysely<Tables>, work: (tx: Transaction) => Promise<T>): Promise<T> {
  try {
    const result = await work(connection);
    await connection.executeQuery(commit);
    return result;
  } catch (error) {
    await connection.executeQuery(rollback).catch(() => undefined);
    throw error;
  }
}

type Statement = ReturnType<KyselySqlite['prepare']>;

interface Sqlite {
  prepare(sql: string): unknown;
  close(): unknown;
}

/**
 * The characters of all kept statements together, which is a few hundred usual statements. SQLite takes about 40 bytes for
 * each, outside of the heap that Node watches.
 */
const mostText = 250_000;

/**
 * Keeps prepared statements, which Kysely's driver would prepare anew for each query. Nearly all queries are repeated, and
 * preparing one mostly costs more than running it: `bench:converge` took 22 to 41 % more processor time without this. The
 * least recently used are dropped first: a statement that names hundreds of rows takes a megabyte.
 */
export function withKeptStatements(database: Sqlite, most = mostText): KyselySqlite {
  const statements = new Map<string, Statement>();
  let text = 0;

  function drop(sql: string): void {
    if (statements.delete(sql)) text -= sql.length;
  }

  return {
    close: () => void database.close(),
    prepare(sql) {
      const statement = statements.get(sql) ?? (database.prepare(sql) as Statement);
      drop(sql);
      statements.set(sql, statement);
      text += sql.length;
      for (const oldest of statements.keys()) {
        if (text <= most) break;
        drop(oldest);
      }
      return statement;
    },
  };
}
