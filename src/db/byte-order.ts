import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * A text column that is compared and sorted by bytes, as `compareBytes` does. Otherwise PostgreSQL
 * sorts by its locale, and the sorted results of two queries could not be merged.
 */
export function byteOrder({ dialect }: Pick<Database, 'dialect'>, column: string): RawBuilder<string> {
  const ref = sql.ref<string>(column);
  return dialect === 'sqlite' ? sql<string>`${ref}` : sql<string>`${ref} collate "C"`;
}

export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
