import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * A column of text to be compared and sorted byte by byte, as `compareBytes` does: PostgreSQL sorts
 * as its locale says otherwise, and what two queries have sorted could not be merged.
 */
export function byteOrder({ dialect }: Pick<Database, 'dialect'>, column: string): RawBuilder<string> {
  const ref = sql.ref<string>(column);
  return dialect === 'sqlite' ? sql<string>`${ref}` : sql<string>`${ref} collate "C"`;
}

export function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
