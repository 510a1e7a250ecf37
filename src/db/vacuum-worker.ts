import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { createLoop, type Loop } from '../lib/loop.ts';
import { type Database, inTransaction, type Transaction } from './database.ts';

/**
 * Gives back to the disk what deleting has left free in a SQLite file, beyond what the next
 * deliveries will want again. PostgreSQL does so by itself.
 *
 * @param keepPages how many free pages are kept
 * @returns whether there is more to give back
 */
export async function shrinkFile(database: Database, keepPages: number): Promise<boolean> {
  if (database.dialect !== 'sqlite') return false;
  const free = await countFreePages(database.kysely);
  const spare = free - keepPages;
  if (spare <= 0) return false;
  const pages = Math.min(spare, pagesPerStep);
  await inTransaction(database, async (tx) => {
    // One at a time: better-sqlite3 runs a statement one step, and each step frees one page.
    for (let freed = 0; freed < pages; freed += 1) await freePage.execute(tx);
  });
  // A file that was made without the setting for it gives nothing back, however often it is asked.
  return spare > pages && (await countFreePages(database.kysely)) < free;
}

const freePage = sql`pragma incremental_vacuum(1)`;

async function countFreePages(tx: Transaction): Promise<number> {
  const { rows } = await sql<{ freelistCount: number }>`pragma freelist_count`.execute(tx);
  return rows[0]?.freelistCount ?? 0;
}

/** Each is moved to another place in the file: so few that nobody waits long. */
const pagesPerStep = 64;
const restMs = 20;
const intervalMs = 10 * 60_000;
/** 8 MiB. */
const usuallyKeptPages = 2048;

export function createVacuumWorker(database: Database, logger: Logger, clock: Clock): Loop {
  return createLoop({
    name: 'vacuum',
    intervalMs,
    logger,
    clock,
    async run(signal) {
      if (!(await shrinkFile(database, usuallyKeptPages))) return 'idle';
      await wait(restMs, undefined, { signal });
      return 'more';
    },
  });
}
