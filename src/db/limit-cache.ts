import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Keeps what SQLite remembers of its file small, for work that goes through a lot of it once. The
 * cache of PostgreSQL is in no process of ours.
 */
export async function limitCache({ dialect, kysely }: Database, cacheKiB: number): Promise<void> {
  if (dialect === 'sqlite') await sql.raw(`pragma cache_size = -${cacheKiB}`).execute(kysely);
}
