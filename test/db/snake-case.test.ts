import { CamelCasePlugin, type Dialect, DummyDriver, Kysely, PostgresDialect, SqliteDialect } from 'kysely';
import { describe, expect, it } from 'vitest';
import { RowsInCamelCase, SnakeCasePostgresDialect, SnakeCaseSqliteDialect } from '../../src/db/snake-case.ts';

type AnyTables = Record<string, Record<string, string>>;

describe.each([
  ['SQLite', withoutDriver(SnakeCaseSqliteDialect), withoutDriver(SqliteDialect)],
  ['PostgreSQL', withoutDriver(SnakeCasePostgresDialect), withoutDriver(PostgresDialect)],
])('a name in a query for %s', (_, dialect, plain) => {
  const ours = new Kysely<AnyTables>({ dialect, plugins: [new RowsInCamelCase()] });
  const kyselys = new Kysely<AnyTables>({ dialect: plain, plugins: [new CamelCasePlugin()] });

  it.each(['tool', 'opentrainUserId', 'sha256', 'keyId2', 'aURLOfATool', 'snake_case', 'say"so', ''])(
    '%s is written as by the plugin of Kysely',
    (name) => {
      const queryOf = (kysely: Kysely<AnyTables>) =>
        kysely.selectFrom('usageDay').select(`usageDay.${name} as ${name}`);
      expect(queryOf(ours).compile().sql).toBe(queryOf(kyselys).compile().sql);
    },
  );
});

/** Only compiles queries. */
function withoutDriver(Base: new (config: never) => Dialect): Dialect {
  const dialect = new Base({} as never);
  dialect.createDriver = () => new DummyDriver();
  return dialect;
}
