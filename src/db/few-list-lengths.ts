import { BinaryOperationNode, type PrimitiveValueListNode, SqliteQueryCompiler } from 'kysely';

/** Up to here a list keeps its length, by which SQLite chooses an index. Most lists of a fixed length are this short. */
const longestKept = 8;
/** Longer lists are rare, and a statement of SQLite has at most 32,766 parameters. */
const longestFilled = 1024;

/**
 * Writes lists of `in (…)` as long as the next power of two: the last value is repeated, which changes nothing. Else
 * each length would be another statement, which SQLite prepares anew and `withKeptStatements` keeps.
 */
export class FewListLengths extends SqliteQueryCompiler {
  protected override visitPrimitiveValueList(node: PrimitiveValueListNode): void {
    // The rows of an `insert` are such lists too.
    const isCompared = this.parentNode !== undefined && BinaryOperationNode.is(this.parentNode);
    super.visitPrimitiveValueList(isCompared ? { ...node, values: fillUp(node.values) } : node);
  }
}

/** Repeats the last value up to the next power of two. */
export function fillUp<T>(values: readonly T[]): readonly T[] {
  if (values.length <= longestKept || values.length > longestFilled) return values;
  const missing = 2 ** Math.ceil(Math.log2(values.length)) - values.length;
  return missing === 0 ? values : [...values, ...Array.from({ length: missing }, () => values.at(-1) as T)];
}

const mostInserted = 64;

/** Rows to insert, in parts of few lengths: powers of two, as rows cannot be repeated. */
export function inFewLengths<T>(rows: readonly T[]): T[][] {
  const parts: T[][] = [];
  for (let begin = 0; begin < rows.length; ) {
    const length = Math.min(2 ** Math.floor(Math.log2(rows.length - begin)), mostInserted);
    parts.push(rows.slice(begin, begin + length));
    begin += length;
  }
  return parts;
}
