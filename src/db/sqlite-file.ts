import { sql } from 'kysely';
import type { Alerts } from '../lib/alerts.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';

const lookEveryMs = 2000;

interface FileWatchDeps {
  database: Pick<Database, 'checkFile'>;
  alerts: Alerts;
  logger: Logger;
  clock: Clock;
}

/** Raises an alert when the files of SQLite are deleted or replaced. The deleted files are still open, and store it. */
export function createFileWatch({ database, alerts, logger, clock }: FileWatchDeps): Loop {
  const look = createFileLook(database, alerts);
  return createLoop({
    name: 'database_file',
    intervalMs: lookEveryMs,
    logger,
    clock,
    async run() {
      look();
      return 'idle';
    },
  });
}

/** It raises or ends the alert at the first look, and then at each change. */
export function createFileLook(database: Pick<Database, 'checkFile'>, alerts: Alerts): () => void {
  let wasLost: boolean | undefined;
  return () => {
    const isLost = isFileLost(database);
    if (isLost === wasLost) return;
    wasLost = isLost;
    if (isLost) alerts.raise('database_lost', {});
    else alerts.observe('database_lost', {}, []);
  };
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
 * Frees the space that deleted rows left in a SQLite file, except what the next deliveries need.
 * PostgreSQL does this by itself.
 *
 * @param keepPages how many free pages are kept
 * @returns whether there is more to free
 */
export async function shrinkFile(database: Database, keepPages: number): Promise<boolean> {
  if (database.dialect !== 'sqlite') return false;
  const free = await countFreePages(database.kysely);
  const spare = free - keepPages;
  if (spare <= 0) return false;
  const pages = Math.min(spare, pagesPerStep);
  await inTransaction(database, async (tx) => {
    // One page at a time, because better-sqlite3 runs only one step of this statement.
    for (let freed = 0; freed < pages; freed += 1) await freePage.execute(tx);
  });
  // A file that was made without this setting never frees a page.
  return spare > pages && (await countFreePages(database.kysely)) < free;
}

const freePage = sql`pragma incremental_vacuum(1)`;

async function countFreePages(tx: Transaction): Promise<number> {
  const { rows } = await sql<{ freelistCount: number }>`pragma freelist_count`.execute(tx);
  return rows[0]?.freelistCount ?? 0;
}

/** A page is moved within the file before it is freed. The number is small, so that no writer waits long. */
const pagesPerStep = 64;
