import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { type Tables, tables } from '../../src/db/schema.ts';
import { snakeCaseOf } from '../../src/db/snake-case.ts';

/** The rows of these tables; by default of all in the schema. */
export async function readAll({ kysely }: Database, names = Object.keys(tables).sort()): Promise<object[][]> {
  return await Promise.all(
    names.map((name) =>
      kysely
        .selectFrom(name as keyof Tables)
        .selectAll()
        .execute(),
    ),
  );
}

/** Fills every column. */
export async function insertAny({ kysely }: Database, table: string): Promise<void> {
  const { columns = [] } =
    (await kysely.introspection.getTables()).find(({ name }) => name === snakeCaseOf(table)) ?? {};
  const filled = columns.filter(({ isAutoIncrementing }) => !isAutoIncrementing);
  const values: Record<string, unknown> = { text: 'x', bytes: Buffer.from('x') };
  const names = filled.map(({ name }) => sql.ref(name));
  const list = filled.map(({ dataType }) => sql`${values[schemaTypes[dataType] ?? ''] ?? 1}`);
  await sql`insert into ${sql.table(table)} (${sql.join(names)}) values (${sql.join(list)})`.execute(kysely);
}

/** The types of the schema, by those of the databases. */
export const schemaTypes: Record<string, string> = {
  ...{ TEXT: 'text', INTEGER: 'integer', BIGINT: 'bigint', BLOB: 'bytes', 'DOUBLE PRECISION': 'real' },
  ...{ text: 'text', blob: 'bytes', bytea: 'bytes', int4: 'integer', int8: 'bigint', float8: 'real' },
};
