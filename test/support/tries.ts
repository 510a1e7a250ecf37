import { describe, TestRunner } from 'vitest';
import { type Dialect, type OpenFresh, openForTest, postgres, sqlite } from './databases.ts';

/** `TEST_TRIES=all`, as in `.ci/full`. */
export const isThorough = process.env['TEST_TRIES'] === 'all';

/**
 * How many random tries: by default a twentieth, which is enough for each mutant of the tests. On PostgreSQL never more:
 * what is tried there again are its queries, and the rules were tried on SQLite.
 */
export function tries(all: number): number {
  const isOnPostgres = TestRunner.getCurrentTest()?.fullName.includes('(postgres)');
  return isThorough && !isOnPostgres ? all : Math.ceil(all / 20);
}

/**
 * The databases for tests whose subject is not the database: at a desk SQLite alone. Stores, incidents and journeys of
 * crashes run on both everywhere.
 */
const anyDialects: readonly Dialect[] = isThorough ? [sqlite, postgres] : [sqlite];

export function describeAnyDialect(name: string, declare: (dialect: Dialect) => void): void {
  describe.each(anyDialects)(`${name} ($name)`, declare);
}

export function describeAnyDatabase(name: string, declare: (openFresh: OpenFresh) => void): void {
  describeAnyDialect(name, ({ createMigrated }) => {
    declare(async () => openForTest(await createMigrated()));
  });
}
