import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Makes SQLite's cache small, for work that goes through a large part of the file once. PostgreSQL has
 * its cache in another process.
 */
export async function limitCache({ dialect, kysely }: Database, cacheKiB: number): Promise<void> {
  if (dialect === 'sqlite') await sql.raw(`pragma cache_size = -${cacheKiB}`).execute(kysely);
}
