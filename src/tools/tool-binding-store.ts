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
}

export function createToolBindingStore(database: Database): ToolBindingStore {
  const { kysely } = database;
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
