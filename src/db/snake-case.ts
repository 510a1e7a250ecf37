import {
  type BinaryOperationNode,
  CamelCasePlugin,
  type DefaultQueryCompiler,
  type OperationNode,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  PostgresDialect,
  PostgresQueryCompiler,
  PrimitiveValueListNode,
  type QueryResult,
  RawNode,
  type RootOperationNode,
  SqliteDialect,
  SqliteQueryCompiler,
  type UnknownRow,
  type ValueNode,
} from 'kysely';
import { flags } from './schema.ts';

/**
 * Names are in snake case in the database and in camel case in the program. Kysely's plugin would copy the tree of each
 * query: `bench:converge` took 13 % more processor time with it. So names are changed while the text of the query is
 * written, and this plugin changes only the rows.
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
export function toStored(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value;
}

export class SnakeCaseSqliteDialect extends SqliteDialect {
  override createQueryCompiler(): DefaultQueryCompiler {
    return new KnownPlansSqliteCompiler();
  }
}

export class SnakeCasePostgresDialect extends PostgresDialect {
  override createQueryCompiler(): DefaultQueryCompiler {
    return new SnakeCasePostgresCompiler();
  }
}

const SnakeCaseSqliteCompiler = inSnakeCase(SqliteQueryCompiler, (values) => [
  '(select value from json_each(',
  JSON.stringify(values),
  '))',
]);

const SnakeCasePostgresCompiler = inSnakeCase(PostgresQueryCompiler, (values) => [
  '(select unnest(cast(',
  values,
  ` as ${typeof values[0] === 'number' ? 'bigint' : 'text'}[])))`,
]);

type LongList = [before: string, value: unknown, after: string];

function inSnakeCase(Compiler: new () => DefaultQueryCompiler, toList: (values: readonly unknown[]) => LongList) {
  return class extends Compiler {
    protected override appendValue(value: unknown): void {
      super.appendValue(toStored(value));
    }

    protected override sanitizeIdentifier(name: string): string {
      return toSnakeCase(name, (snake) => super.sanitizeIdentifier(snake));
    }

    protected override visitBinaryOperation(node: BinaryOperationNode): void {
      if (isEmptyList(node.rightOperand)) this.append(withEmptyList(node));
      else super.visitBinaryOperation(node);
    }

    protected override visitPrimitiveValueList(node: PrimitiveValueListNode): void {
      if (isLong(node)) {
        const [before, value, after] = toList(node.values);
        this.append(before);
        this.appendValue(value);
        this.append(after);
      } else super.visitPrimitiveValueList(node);
    }
  };
}

/** The texts in the conditions of partial indexes. */
const indexed: ReadonlySet<unknown> = new Set(['held', 'ignored', 'open', 'orphaned', 'refused']);

/**
 * SQLite plans a statement by the values of some parameters, such as those that it compares with the condition of a partial
 * index, and prepares it again whenever they are bound. So conditions hide their parameters from it, and flags, limits and the
 * texts of partial indexes are no parameters. A hire takes 5.3 ms of the processor instead of 5.9.
 */
class KnownPlansSqliteCompiler extends SnakeCaseSqliteCompiler {
  protected override visitValue(node: ValueNode): void {
    const parent = this.parentNode;
    const isKnown = typeof node.value === 'boolean' || indexed.has(node.value) || parent?.kind === 'LimitNode';
    const isHidden = parent?.kind === 'BinaryOperationNode' || (parent?.kind === 'RawNode' && !isList(parent));
    if (node.immediate || isKnown) this.appendImmediateValue(toStored(node.value));
    else if (isHidden) {
      this.append('ifnull(');
      this.appendValue(node.value);
      this.append(', null)');
    } else this.appendValue(node.value);
  }
}

/** Whether it was made by `sql.join`. A list may be long, so only its beginning is read. */
function isList(node: OperationNode): boolean {
  return RawNode.is(node) && node.sqlFragments[0] === '' && node.sqlFragments[1] === '';
}

/** A longer list in a condition becomes one parameter, so a list may have any length. */
const mostParameters = 100;

function isLong({ values }: PrimitiveValueListNode): boolean {
  const type = typeof values[0];
  return values.length > mostParameters && (type === 'string' || type === 'number');
}

/** Neither database accepts an empty list. */
function isEmptyList(node: OperationNode): boolean {
  return PrimitiveValueListNode.is(node) && node.values.length === 0;
}

/** No value is in an empty list. */
function withEmptyList({ operator }: BinaryOperationNode): string {
  return 'operator' in operator && operator.operator === 'in' ? '1 = 0' : '1 = 1';
}

/** The names of the tables, columns and aliases of our own queries: a few hundred. */
const snakeCased = new Map<string, string>();

function toSnakeCase(name: string, sanitize: (snake: string) => string): string {
  const known = snakeCased.get(name);
  if (known !== undefined) return known;
  const snake = sanitize(snakeCaseOf(name));
  snakeCased.set(name, snake);
  return snake;
}

export function snakeCaseOf(name: string): string {
  return name.replaceAll(/(?<!^)[A-Z]+/g, (capitals) => `_${capitals.toLowerCase()}`).toLowerCase();
}
