import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * The rows of a list as one value, to be read by `value ->> 0` and so on where they are lists
 * themselves: thousands of them need one parameter, and lists of all lengths one statement.
 */
export function jsonRows(
  { dialect }: Pick<Database, 'dialect'>,
  list: readonly (readonly (string | number | null)[])[],
): RawBuilder<unknown> {
  const text = JSON.stringify(list);
  return dialect === 'sqlite' ? sql`json_each(${text})` : sql`json_array_elements(cast(${text} as json))`;
}

/** What a column is `in`, however many they are. */
export function jsonTexts(database: Pick<Database, 'dialect'>, texts: readonly string[]): RawBuilder<string> {
  const rows = texts.map((text) => [text]);
  return sql<string>`(select value ->> 0 from ${jsonRows(database, rows)} as given)`;
}
