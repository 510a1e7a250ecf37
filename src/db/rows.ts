import { type DeleteResult, type SelectQueryBuilder, sql, type UpdateResult } from 'kysely';

/** How many rows a query without columns has. */
export async function countRows<DB, TB extends keyof DB>(query: SelectQueryBuilder<DB, TB, object>): Promise<number> {
  const row = await query.select((eb) => eb.fn.countAll<number>().as('n')).executeTakeFirstOrThrow();
  return (row as { n: number }).n;
}

/** Whether a query without columns has any row. */
export async function hasRows<DB, TB extends keyof DB>(query: SelectQueryBuilder<DB, TB, object>): Promise<boolean> {
  return (await query.select(sql`1`.as('one')).limit(1).executeTakeFirst()) !== undefined;
}

/** Whether a statement about one row has found that row. */
export async function hasChanged(statement: {
  executeTakeFirst(): Promise<UpdateResult | DeleteResult>;
}): Promise<boolean> {
  const result = await statement.executeTakeFirst();
  return ('numUpdatedRows' in result ? result.numUpdatedRows : result.numDeletedRows) === 1n;
}

/** A filter for `eb.and`: the values that are given. */
export function given<T extends object>(filter: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as object;
}
