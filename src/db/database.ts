import { type Kysely, sql } from 'kysely';
import { AppError, toAppError } from '../domain/errors.ts';
import { retry } from '../lib/retry.ts';
import type { Tables } from './schema.ts';
import type { WriteTurns } from './write-turns.ts';

/**
 * SQLite and PostgreSQL run the same migrations and the same queries. Where code must differ, it asks for `dialect`, which
 * only this folder and the stores do.
 */
export interface Database {
  readonly dialect: 'sqlite' | 'postgres';
  readonly url: string;
  readonly kysely: Kysely<Tables>;
  /** For another thread of this process that writes to the same SQLite file. */
  readonly writeTurns?: WriteTurns;
  /** One attempt at a transaction, for `inTransaction`. */
  transact<T>(work: (tx: Transaction) => Promise<T>, isDurable: boolean): Promise<T>;
  /**
   * Calls `onChange` after this or another process has written something, at most once per `everyMs`. It may miss changes
   * while the database cannot be reached.
   */
  watch(onChange: () => void, everyMs: number): DatabaseWatch;
  /** @throws AppError `unavailable` if the SQLite file at the path is no longer the open one */
  checkFile?(): void;
  close(): Promise<void>;
}

export interface DatabaseWatch {
  stop(): Promise<void>;
}

/** What `inTransaction` gives. Its queries commit or roll back together. */
export type Transaction = Kysely<Tables>;

interface TransactionOptions {
  signal?: AbortSignal;
  /** How long to retry while another transaction is in the way. */
  patienceMs?: number;
  /**
   * Whether the commit must survive a power cut. Any other commit survives a crash of the process, and a power cut once a
   * durable commit has followed, because SQLite loses only the last commits.
   */
  isDurable?: boolean;
}

/**
 * Runs `work` in one transaction, and repeats it if another writer was in the way (busy, deadlock, serialisation). So
 * `work` must do nothing but queries on `tx`, and wait for no other transaction.
 *
 * @throws AppError `unavailable` if the database cannot be reached or stays busy
 */
export async function inTransaction<T>(
  database: Database,
  work: (tx: Transaction) => Promise<T>,
  { signal, patienceMs = 5000, isDurable = false }: TransactionOptions = {},
): Promise<T> {
  const deadline = performance.now() + patienceMs;
  return await retry(
    async () => {
      try {
        return await database.transact(work, isDurable);
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

/**
 * Makes SQLite's cache small, for a command, which goes through a large part of the file once: reading 100,000 contracts took
 * 15 MiB less and as long.
 */
export async function limitCache({ dialect, kysely }: Database): Promise<void> {
  if (dialect === 'sqlite') await sql`pragma cache_size = -4096`.execute(kysely);
}

/** `SQLITE_BUSY_RECOVERY`: another process is repairing SQLite's log. */
const collisionCodes = new Set([
  'SQLITE_BUSY',
  'SQLITE_BUSY_RECOVERY',
  'SQLITE_BUSY_SNAPSHOT',
  '40001',
  '40P01',
  '55P03',
]);

/** Whether another connection was in the way, so that the same work can succeed later. */
export function isCollision(error: unknown): boolean {
  return collisionCodes.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '');
}

/** Collisions, lost connections and full disks are transient. Any other error is a fault of the program. */
function toDatabaseError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  const isPassing =
    collisionCodes.has(code) ||
    /^(SQLITE_(FULL|IOERR|CANTOPEN)|E[A-Z]+$|08|53|57P)/.test(code) ||
    /timeout|terminated|connection/i.test(toAppError(error).message);
  if (!isPassing) return toAppError(error);
  return new AppError('unavailable', `The database could not be used (${code || 'no connection'})`, {
    cause: error,
  });
}

/** Does `work` in a transaction that is rolled back, to see what it would do. */
export async function rollingBack<T>(database: Database, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const marker = new Error('rolled back on purpose');
  const seen: { result?: T } = {};
  try {
    await inTransaction(database, async (tx) => {
      seen.result = await work(tx);
      throw marker;
    });
  } catch (error) {
    if (error !== marker && !(error instanceof Error && error.cause === marker)) throw error;
  }
  return seen.result as T;
}
