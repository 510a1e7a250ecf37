import { inTransaction } from '../db/database.ts';
import type { Storage } from '../keys/storage.ts';
import type { Logger } from '../lib/logger.ts';
import { locationOf } from './bind-tool.ts';
import { isSameServer } from './same-server.ts';
import { listToolBindings, renameToolBinding } from './tool-binding-store.ts';

/**
 * Gives what is stored of a tool to its new name: a tool is its server, so what is ours in it stays ours. Nothing is
 * carried to a name that was used before, nor where several names could be meant.
 */
export async function carryTools(
  ctx: Storage,
  tools: ReadonlyMap<string, { settings: object }>,
  logger: Logger,
): Promise<void> {
  const bound = await listToolBindings(ctx);
  const unused = bound.filter(({ tool }) => !tools.has(tool));
  if (unused.length === 0) return;
  const known = new Set(bound.map(({ tool }) => tool));
  const added = [...tools]
    .filter(([tool]) => !known.has(tool))
    .map(([tool, { settings }]) => ({ tool, server: { identity: null, location: locationOf(settings) } }));
  for (const { tool: from, ...server } of unused) {
    const [to, ...others] = added.filter((one) => isSameServer(server, one.server));
    if (to === undefined || others.length > 0) continue;
    if (unused.filter((one) => isSameServer(one, to.server)).length > 1) continue;
    const isCarried = await inTransaction(ctx.database, (tx) => renameToolBinding(ctx, tx, from, to.tool));
    if (isCarried) logger.warn({ from, to: to.tool }, 'A tool has a new name: its members are carried over');
  }
}
