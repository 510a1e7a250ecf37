import type { KyselyPlugin, QueryId } from 'kysely';

/** Notices when this process has committed a change. */
export interface ChangeNotice {
  /** Finds the queries that have written. */
  plugin: KyselyPlugin;
  /** Runs a transaction. Its changes are noticed when it ends. */
  within<T>(transaction: () => Promise<T>): Promise<T>;
}

const writingKinds: ReadonlySet<string> = new Set(['InsertQueryNode', 'UpdateQueryNode', 'DeleteQueryNode']);

export function createChangeNotice(onChange: () => void): ChangeNotice {
  const writing = new WeakSet<QueryId>();
  let changes = 0;
  let open = 0;
  return {
    plugin: {
      transformQuery({ node, queryId }) {
        if (writingKinds.has(node.kind)) writing.add(queryId);
        return node;
      },
      async transformResult({ result, queryId }) {
        if (!writing.has(queryId)) return result;
        if (result.rows.length === 0 && !result.numAffectedRows) return result;
        changes += 1;
        if (open === 0) onChange();
        return result;
      },
    },
    async within(transaction) {
      const before = changes;
      open += 1;
      try {
        return await transaction();
      } finally {
        open -= 1;
        if (changes > before) onChange();
      }
    },
  };
}
