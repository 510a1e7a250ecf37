import type { SqliteDatabase } from 'kysely';

type Statement = ReturnType<SqliteDatabase['prepare']>;

/** What opens a database prepares a statement with, and closes it. */
interface Sqlite {
  prepare(sql: string): unknown;
  close(): unknown;
}

/**
 * How much text the kept statements have together: some hundreds of usual ones. SQLite takes some 40 bytes for a character,
 * outside of the heap that Node watches.
 */
const mostText = 250_000;

/**
 * Keeps prepared statements, because nearly all queries come again, and preparing a statement costs SQLite more than
 * running most of them: `bench:converge` took 22 to 41 % more of the processor without this. Kysely's driver would prepare
 * each query anew. Those that were not used for the longest time are dropped first: a statement that names hundreds of
 * rows takes a megabyte, and may never come again with as many.
 */
export function withKeptStatements(database: Sqlite, most = mostText): SqliteDatabase {
  const statements = new Map<string, Statement>();
  let text = 0;

  function drop(sql: string): void {
    if (statements.delete(sql)) text -= sql.length;
  }

  return {
    close: () => void database.close(),
    prepare(sql) {
      const statement = statements.get(sql) ?? (database.prepare(sql) as Statement);
      drop(sql);
      statements.set(sql, statement);
      text += sql.length;
      for (const oldest of statements.keys()) {
        if (text <= most) break;
        drop(oldest);
      }
      return statement;
    },
  };
}
