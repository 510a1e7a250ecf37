import type { Adapter } from '../adapters/adapter.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { isOtherServer, type Server } from '../domain/binding.ts';
import type { Storage } from '../keys/storage.ts';
import { askServer, describeOtherServer, describeTwin, findTwin, locationOf } from '../tools/bind-tool.ts';
import { callTool } from '../tools/call-tool.ts';
import { findToolBinding, listToolBindings, setToolBinding } from '../tools/tool-binding-store.ts';
import { type Check, failure } from './doctor-checks.ts';

/** Which server each tool is bound to, and how an operator binds it to another. */

const askTimeoutMs = 15_000;

export interface ConfiguredTool {
  tool: string;
  adapter: Adapter;
  settings: object;
}

export interface ToolServer {
  tool: string;
  /** The address of the tool, as configured. */
  location: string | null;
  /** The server that its members are in; null where the tool has not been asked yet. */
  bound: Server | null;
}

export async function listServers(
  ctx: Storage,
  tools: Iterable<[string, { settings: object }]>,
): Promise<ToolServer[]> {
  const bindings = await listToolBindings(ctx);
  return [...tools].map(([tool, { settings }]) => {
    const found = bindings.find((one) => one.tool === tool);
    const bound = found === undefined ? null : { identity: found.identity, location: found.location };
    return { tool, location: locationOf(settings), bound };
  });
}

/**
 * Binds a tool to the server that answers for it now. Running instances go on with it by themselves.
 *
 * @throws AppError where it does not answer
 */
export async function acceptServer(
  ctx: Storage,
  by: By,
  { tool, adapter, settings }: ConfiguredTool,
  signal: AbortSignal,
): Promise<Server> {
  const server = await ask(adapter, settings, signal);
  await inTransaction(ctx.database, async (tx) => {
    await setToolBinding(tx, tool, server);
    await writeAudit(tx, by, 'tools accept', tool);
  });
  return server;
}

/** Empty where the tool does not answer: another check reports that. */
export async function checkServer(
  ctx: Storage,
  { tool, adapter, settings }: ConfiguredTool,
  configured: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Check[]> {
  const bound = await findToolBinding(ctx, tool);
  const server = await ask(adapter, settings, signal).catch(() => undefined);
  if (server === undefined) return [];
  const fail = (why: string) => [
    failure(`tool ${tool}`, new Error(why), 'until then no member is added or removed in it'),
  ];
  if (bound !== undefined && isOtherServer(bound, server)) return fail(describeOtherServer(tool, bound, server));
  const twin = await findTwin(ctx, configured, tool, server);
  return twin === undefined ? [] : fail(describeTwin(tool, twin));
}

function ask(adapter: Adapter, settings: object, stopping: AbortSignal): Promise<Server> {
  return callTool(askTimeoutMs, stopping, (signal) => askServer(adapter, locationOf(settings), signal));
}
