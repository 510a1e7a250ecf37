import { sql } from 'kysely';
import type { Storage } from '../context.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { upsert } from '../db/query.ts';
import type { Server } from '../domain/binding.ts';

/** Binds a tool to a server, even if it was bound to another one. */
export async function setToolBinding(tx: Transaction, tool: string, server: Server): Promise<void> {
  await upsert(tx, 'toolBinding', ['tool'], [{ tool, ...server }]);
}

export function findToolBinding(ctx: Storage, tool: string): Promise<Server | undefined> {
  return ctx.database.kysely
    .selectFrom('toolBinding')
    .select(['identity', 'location'])
    .where('tool', '=', tool)
    .executeTakeFirst();
}

export function listToolBindings(ctx: Storage): Promise<(Server & { tool: string })[]> {
  return ctx.database.kysely.selectFrom('toolBinding').selectAll().orderBy('tool').execute();
}

/**
 * Changes the name of a tool in every table.
 *
 * @returns false if the new name has members already
 */
export async function renameToolBinding(ctx: Storage, tx: Transaction, from: string, to: string): Promise<boolean> {
  const used = await tx.selectFrom('membership').select('id').where('tool', '=', to).limit(1).executeTakeFirst();
  if (used !== undefined) return false;
  const tables = await tx.introspection.getTables();
  // Other schemas of a PostgreSQL database may belong to other programs.
  const schema = ctx.database.dialect === 'postgres' ? await currentSchema(tx) : undefined;
  const own = tables.filter((table) => table.schema === schema && !table.isView);
  for (const { name } of own.filter(({ columns }) => columns.some((column) => column.name === 'tool'))) {
    await sql`update ${sql.table(name)} set tool = ${to} where tool = ${from}`.execute(tx);
  }
  return true;
}

/** Binds a tool that is not bound yet, or updates what is known of its server. */
export async function learnToolBinding(ctx: Storage, tool: string, server: Server): Promise<void> {
  const bound = await findToolBinding(ctx, tool);
  const learnt: Server = {
    identity: server.identity ?? bound?.identity ?? null,
    location: server.location ?? bound?.location ?? null,
  };
  const isSame = bound?.identity === learnt.identity && bound.location === learnt.location;
  if (!isSame) await inTransaction(ctx.database, (tx) => setToolBinding(tx, tool, learnt));
}

async function currentSchema(tx: Transaction): Promise<string | undefined> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(tx);
  return rows[0]?.schema;
}
