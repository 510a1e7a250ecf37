import { sql } from 'kysely';
import { type Database, inTransaction, type Transaction } from '../db/database.ts';
import type { Server } from '../domain/binding.ts';

/** The only SQL about which server each tool is bound to. */
export interface ToolBindingStore {
  find(tool: string): Promise<Server | undefined>;
  list(): Promise<(Server & { tool: string })[]>;
  /** Binds a tool to a server, whichever it was bound to. */
  bind(tx: Transaction, tool: string, server: Server): Promise<void>;
  /** Binds a tool that is not bound yet, and adds what was unknown or has moved. */
  learn(tool: string, server: Server): Promise<void>;
  /**
   * Changes the name of a tool in every table.
   *
   * @returns false if the new name has members already
   */
  rename(tx: Transaction, from: string, to: string): Promise<boolean>;
}

export function createToolBindingStore(database: Database): ToolBindingStore {
  const { kysely, dialect } = database;
  const find = (db: Transaction, tool: string) =>
    db.selectFrom('toolBinding').select(['identity', 'location']).where('tool', '=', tool).executeTakeFirst();
  const bind = async (tx: Transaction, tool: string, server: Server) => {
    await tx
      .insertInto('toolBinding')
      .values({ tool, ...server })
      .onConflict((conflict) => conflict.column('tool').doUpdateSet(server))
      .execute();
  };
  return {
    bind,
    find: (tool) => find(kysely, tool),
    list: () => kysely.selectFrom('toolBinding').selectAll().orderBy('tool').execute(),

    async rename(tx, from, to) {
      const used = await tx.selectFrom('membership').select('id').where('tool', '=', to).limit(1).executeTakeFirst();
      if (used !== undefined) return false;
      const tables = await tx.introspection.getTables();
      // A PostgreSQL database may have tables of other programs in other schemas.
      const schema = dialect === 'postgres' ? await currentSchema(tx) : undefined;
      const own = tables.filter((table) => table.schema === schema && !table.isView);
      for (const { name } of own.filter(({ columns }) => columns.some((column) => column.name === 'tool'))) {
        await sql`update ${sql.table(name)} set tool = ${to} where tool = ${from}`.execute(tx);
      }
      return true;
    },

    async learn(tool, server) {
      const bound = await find(kysely, tool);
      const learnt: Server = {
        identity: server.identity ?? bound?.identity ?? null,
        location: server.location ?? bound?.location ?? null,
      };
      const isSame = bound?.identity === learnt.identity && bound.location === learnt.location;
      if (!isSame) await inTransaction(database, (tx) => bind(tx, tool, learnt));
    },
  };
}

async function currentSchema(tx: Transaction): Promise<string | undefined> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(tx);
  return rows[0]?.schema;
}
