import {
  CamelCasePlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresDialect,
  PostgresQueryCompiler,
  type QueryResult,
  type RootOperationNode,
  SqliteDialect,
  SqliteQueryCompiler,
  type UnknownRow,
} from 'kysely';
import { flags } from './schema.ts';

/**
 * Names are in snake case in the database and in camel case in the program. Kysely's plugin for this
 * copies the tree of each query: `bench:converge` took 13 % more of the processor with it. Here a name is
 * changed while the text of the query is written, and the plugin changes only the rows.
 */
export class RowsInCamelCase extends CamelCasePlugin {
  override transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    return node;
  }

  override async transformResult(args: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    const result = await super.transformResult(args);
    for (const row of result.rows) {
      for (const column in row) if (flags.has(column) && row[column] !== null) row[column] = row[column] === 1;
    }
    return result;
  }
}

/** A flag is 0 or 1 in the database. */
function toStored(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}

export class SnakeCaseSqliteDialect extends SqliteDialect {
  override createQueryCompiler(): SqliteQueryCompiler {
    return new SnakeCaseSqliteCompiler();
  }
}

export class SnakeCasePostgresDialect extends PostgresDialect {
  override createQueryCompiler(): PostgresQueryCompiler {
    return new SnakeCasePostgresCompiler();
  }
}

class SnakeCaseSqliteCompiler extends SqliteQueryCompiler {
  protected override appendValue(value: unknown): void {
    super.appendValue(toStored(value));
  }

  protected override sanitizeIdentifier(name: string): string {
    return toSnakeCase(name, (snake) => super.sanitizeIdentifier(snake));
  }
}

class SnakeCasePostgresCompiler extends PostgresQueryCompiler {
  protected override appendValue(value: unknown): void {
    super.appendValue(toStored(value));
  }

  protected override sanitizeIdentifier(name: string): string {
    return toSnakeCase(name, (snake) => super.sanitizeIdentifier(snake));
  }
}

/** The names of the tables, columns and aliases of our own queries: a few hundred. */
const snakeCased = new Map<string, string>();

function toSnakeCase(name: string, sanitize: (snake: string) => string): string {
  const known = snakeCased.get(name);
  if (known !== undefined) return known;
  const snake = sanitize(name.replaceAll(/(?<!^)[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`).toLowerCase());
  snakeCased.set(name, snake);
  return snake;
}
