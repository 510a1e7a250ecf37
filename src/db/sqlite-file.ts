import { closeSync, fsyncSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';
import { announceChanges, createDiskLook, readDisk } from './disk.ts';
import { sqliteFileOf } from './sqlite-database.ts';

const lookEveryMs = 2000;

interface FileWatchDeps {
  database: Database;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
}

/**
 * Looks after the files of SQLite and their disk. When the files are deleted or replaced, they are still open, so the alert
 * is stored there.
 *
 * @param paused the loops that pause on a full disk
 */
export function createFileWatch(
  { database, alerts, logger, clock }: FileWatchDeps,
  paused: readonly Pick<Loop, 'pause'>[],
): Loop {
  const file = sqliteFileOf(database.url);
  const looks = [createFileLook(database, alerts)];
  if (file !== undefined) looks.push(createDiskLook(alerts, () => readDisk(file), paused));
  return createLoop({
    name: 'database_file',
    intervalMs: lookEveryMs,
    logger,
    clock,
    async run() {
      for (const look of looks) look();
      return 'idle';
    },
  });
}

/** Raises or ends the alert at the first look and at each change. */
export function createFileLook(database: Pick<Database, 'checkFile'>, alerts: Alerts): () => void {
  const say = announceChanges(alerts, 'database_lost');
  return () => say(isFileLost(database));
}

function isFileLost(database: Pick<Database, 'checkFile'>): boolean {
  try {
    database.checkFile?.();
    return false;
  } catch {
    return true;
  }
}

/**
 * Frees the space of deleted rows in a SQLite file. PostgreSQL does this by itself.
 *
 * @param keepPages how many free pages are kept for new rows
 * @returns whether there is more to free
 */
export async function shrinkFile(database: Database, keepPages: number): Promise<boolean> {
  if (database.dialect !== 'sqlite') return false;
  const free = await countFreePages(database.kysely);
  const spare = free - keepPages;
  if (spare <= 0) return false;
  const pages = Math.min(spare, pagesPerStep);
  await inTransaction(database, async (tx) => {
    // Page by page, because better-sqlite3 runs only the first step of this statement.
    for (let freed = 0; freed < pages; freed += 1) await freePage.execute(tx);
  });
  // A file that was made without `auto_vacuum` never frees a page.
  return spare > pages && (await countFreePages(database.kysely)) < free;
}

const freePage = sql`pragma incremental_vacuum(1)`;

async function countFreePages(tx: Transaction): Promise<number> {
  const { rows } = await sql<{ freelistCount: number }>`pragma freelist_count`.execute(tx);
  return rows[0]?.freelistCount ?? 0;
}

/** Each page is moved within the file before it is freed. Few pages, so that no writer waits long. */
const pagesPerStep = 64;

/** A new file name survives a power cut only after its folder is synced. Windows syncs no folder. */
export function syncFolderOf(file: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path.dirname(file), 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/** The size in bytes; of SQLite with its log. */
export async function readDatabaseSize({ dialect, url, kysely }: Database): Promise<number> {
  if (dialect === 'postgres') {
    return await readBytes(kysely, sql`select pg_database_size(current_database()) as bytes`);
  }
  const pages = sql`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`;
  return (await readBytes(kysely, pages)) + (await readLogSize(sqliteFileOf(url)));
}

async function readBytes(kysely: Database['kysely'], query: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await query.execute(kysely);
  const [row] = rows as { bytes: number | string }[];
  return Number(row?.bytes ?? 0);
}

/** There is no log while no process has the database open. */
async function readLogSize(file: string | undefined): Promise<number> {
  if (file === undefined) return 0;
  const found = await stat(`${file}-wal`).catch(() => undefined);
  return found?.size ?? 0;
}
