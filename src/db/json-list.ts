import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Rows as one JSON parameter, whose columns are read with `value ->> 0` and so on. So thousands of rows
 * need one parameter, and lists of every length use the same statement.
 */
export function jsonRows(
  { dialect }: Pick<Database, 'dialect'>,
  list: readonly (readonly (string | number | null)[])[],
): RawBuilder<unknown> {
  const text = JSON.stringify(list);
  return dialect === 'sqlite' ? sql`json_each(${text})` : sql`json_array_elements(cast(${text} as json))`;
}

/** Ids of rows for a condition with `in`, however many there are. */
export function jsonIds(database: Pick<Database, 'dialect'>, ids: readonly number[]): RawBuilder<number> {
  const rows = ids.map((id) => [id]);
  return sql<number>`(select cast(value ->> 0 as bigint) from ${jsonRows(database, rows)} as given)`;
}

/** Texts for a condition with `in`, however many there are. */
export function jsonTexts(database: Pick<Database, 'dialect'>, texts: readonly string[]): RawBuilder<string> {
  const rows = texts.map((text) => [text]);
  return sql<string>`(select value ->> 0 from ${jsonRows(database, rows)} as given)`;
}
