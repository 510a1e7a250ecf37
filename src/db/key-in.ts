import { type RawBuilder, sql } from 'kysely';
import { chunksOf } from '../lib/lists.ts';

/** How many rows one statement may name, so that both databases accept the number of parameters. */
const keysAtOnce = 1000;

/** `(a, b) in (values (…), (…))`, which both databases understand. */
export function keyIn(key: readonly string[], rows: readonly object[], of?: string): RawBuilder<boolean> {
  const refs = key.map((column) => sql.ref(of === undefined ? column : `${of}.${column}`));
  const values = rows.map((row) => {
    const fields = row as Readonly<Record<string, unknown>>;
    return sql`(${sql.join(key.map((column) => fields[column]))})`;
  });
  return sql`(${sql.join(refs)}) in (values ${sql.join(values)})`;
}

/** The rows in parts that one statement may name. */
export function inParts<T>(rows: readonly T[]): T[][] {
  return chunksOf(rows, keysAtOnce);
}
