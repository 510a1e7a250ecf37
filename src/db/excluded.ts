import { type RawBuilder, sql } from 'kysely';

/** For `doUpdateSet`: these columns get what the row that was to be inserted has. */
export function toExcluded(columns: readonly string[]): Record<string, RawBuilder<never>> {
  return Object.fromEntries(columns.map((column) => [column, sql.ref<never>(`excluded.${column}`)]));
}
