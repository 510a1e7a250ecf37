import { stat } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { sqliteFileOf } from './sqlite-database.ts';

/** In bytes; on SQLite with the write-ahead log. */
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

/** The log is gone while no process has the database open. */
async function readLogSize(file: string | undefined): Promise<number> {
  if (file === undefined) return 0;
  const found = await stat(`${file}-wal`).catch(() => undefined);
  return found?.size ?? 0;
}
