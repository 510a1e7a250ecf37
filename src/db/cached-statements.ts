import type SqliteDatabase from 'better-sqlite3';
import type { SqliteDatabase as KyselySqliteDatabase } from 'kysely';

type Statement = ReturnType<KyselySqliteDatabase['prepare']>;

const maxStatements = 500;

/**
 * Keeps prepared statements for the queries that come again, which are nearly all: preparing one
 * costs SQLite more than most of them cost to run. Kysely's driver prepares anew each time.
 */
export function withCachedStatements(database: SqliteDatabase.Database): KyselySqliteDatabase {
  const statements = new Map<string, Statement>();
  return {
    close: () => database.close(),
    prepare(sql) {
      const known = statements.get(sql);
      if (known !== undefined) return known;
      // The oldest goes first: simpler than least recently used, and the set is nearly fixed.
      const [oldest] = statements.keys();
      if (statements.size >= maxStatements && oldest !== undefined) statements.delete(oldest);
      const prepared = database.prepare(sql) as unknown as Statement;
      statements.set(sql, prepared);
      return prepared;
    },
  };
}
