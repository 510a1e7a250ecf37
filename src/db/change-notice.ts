import type { KyselyPlugin, QueryId } from 'kysely';

const writingKinds: ReadonlySet<string> = new Set(['InsertQueryNode', 'UpdateQueryNode', 'DeleteQueryNode']);

/** Notices when this process has committed a change. */
export function createChangeNotice(onChange: () => void) {
  const writing = new WeakSet<QueryId>();
  let changes = 0;
  let open = 0;
  /** Finds the queries that write something. */
  const plugin: KyselyPlugin = {
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
  };
  return {
    plugin,
    /** Runs a transaction, and notices its changes when it ends. */
    async within<T>(transaction: () => Promise<T>): Promise<T> {
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
