import { describe } from 'vitest';
import { type Dialect, type OpenFresh, openForTest, postgres, sqlite } from './databases.ts';

/** So it is in `.ci/run`. */
export const isThorough = process.env['TEST_TRIES'] === 'all';

/**
 * How often to try what is left to chance and takes long: all of it in `.ci/run`, which sets
 * `TEST_TRIES=all`, and a tenth at a desk, so that all tests are run there at all.
 */
export function tries(all: number): number {
  return isThorough ? all : Math.ceil(all / 10);
}

/**
 * The databases for tests whose subject is not the database, such as stories about rules: in `.ci/run`
 * both, at a desk SQLite alone. The tests of the stores run on both everywhere.
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
