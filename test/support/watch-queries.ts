import type { KyselyPlugin, RootOperationNode } from 'kysely';
import type { Database } from '../../src/db/database.ts';

/** Called with the rows of each answer; it may take its time, or throw instead of answering. */
type Watcher = (rows: readonly Record<string, unknown>[]) => Promise<void> | void;

/**
 * The same database, in which a test watches or breaks queries.
 *
 * @param watchers by verb and table, such as `select budget` or `update linkReset`
 */
export function watchQueries(database: Database, watchers: Record<string, Watcher>): Database {
  const kinds = new WeakMap<object, string>();
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      kinds.set(queryId, kindOf(node));
      return node;
    },
    async transformResult({ queryId, result }) {
      await watchers[kinds.get(queryId) ?? '']?.(result.rows);
      return result;
    },
  };
  return {
    ...database,
    kysely: database.kysely.withPlugin(plugin),
    transact: (work, isDurable) => database.transact((tx) => work(tx.withPlugin(plugin)), isDurable),
  };
}

function kindOf(node: RootOperationNode): string {
  switch (node.kind) {
    case 'SelectQueryNode':
      return `select ${nameIn(node.from?.froms[0])}`;
    case 'UpdateQueryNode':
      return `update ${nameIn(node.table)}`;
    case 'InsertQueryNode':
      return `insert ${nameIn(node.into)}`;
    case 'DeleteQueryNode':
      return `delete ${nameIn(node.from.froms[0])}`;
    case 'RawNode':
      return kindOfRaw(node.sqlFragments[0]);
    default:
      return node.kind;
  }
}

function kindOfRaw(sql = ''): string {
  const [, verb = '', table = ''] = /^\s*(insert|update|delete) (?:into |from )?(\w+)/.exec(sql) ?? [];
  return `${verb} ${table.replace(/_(.)/g, (_, letter) => letter.toUpperCase())}`;
}

/** The name of the first table in a part of a query. */
function nameIn(node: object | undefined): string {
  return /"kind":"TableNode".*?"name":"(\w+)"/.exec(JSON.stringify(node ?? {}))?.[1] ?? '';
}
