import { type JoinBuilder, type SqlBool, sql } from 'kysely';
import type { Tables } from './schema.ts';

/** To join two tables where they are equal in all of these columns. */
export function onSame<A extends keyof Tables, B extends keyof Tables>(
  table: A,
  other: B,
  columns: readonly (keyof Tables[A] & keyof Tables[B] & string)[],
) {
  const pairs = columns.map((column) => sql`${sql.ref(`${table}.${column}`)} = ${sql.ref(`${other}.${column}`)}`);
  return <DB, TB extends keyof DB>(join: JoinBuilder<DB, TB>) => join.on(sql<SqlBool>`${sql.join(pairs, sql` and `)}`);
}
