import type { Adapter } from '../adapters/adapter.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import { isOtherServer, type Server } from '../domain/binding.ts';
import { askServer, placeOf, sayOtherServer } from '../tools/bind-tool.ts';
import { callTool } from '../tools/call-tool.ts';
import { createToolBindingStore } from '../tools/tool-binding-store.ts';
import { type Check, failure } from './doctor-checks.ts';

/** Which server each tool is bound to, and that an operator says which it is to be. */

const askTimeoutMs = 15_000;

export interface ConfiguredTool {
  tool: string;
  adapter: Adapter;
  settings: object;
}

interface ToolServer {
  tool: string;
  /** Where it stands, as configured. */
  place: string | null;
  /** What its people are in; null where nobody has asked it yet. */
  bound: Server | null;
}

export async function listServers(
  database: Database,
  tools: Iterable<[string, { settings: object }]>,
): Promise<ToolServer[]> {
  const bindings = await createToolBindingStore(database).list();
  return [...tools].map(([tool, { settings }]) => {
    const found = bindings.find((one) => one.tool === tool);
    const bound = found === undefined ? null : { identity: found.identity, place: found.place };
    return { tool, place: placeOf(settings), bound };
  });
}

/**
 * Takes the server that answers for a tool by now as the one that its people are in. Running
 * instances go on with it by themselves.
 *
 * @throws AppError where it does not answer
 */
export async function acceptServer(
  { database, by }: { database: Database; by: By },
  { tool, adapter, settings }: ConfiguredTool,
  signal: AbortSignal,
): Promise<Server> {
  const told = await ask(adapter, settings, signal);
  await inTransaction(database, async (tx) => {
    await createToolBindingStore(database).bind(tx, tool, told);
    await writeAudit(tx, by, 'tools accept', tool);
  });
  return told;
}

/** What is amiss: nothing where it does not answer, which is told by its own check. */
export async function checkServer(
  database: Database,
  { tool, adapter, settings }: ConfiguredTool,
  signal: AbortSignal,
): Promise<Check[]> {
  const bound = await createToolBindingStore(database).find(tool);
  const told = await ask(adapter, settings, signal).catch(() => undefined);
  if (bound === undefined || told === undefined || !isOtherServer(bound, told)) return [];
  const action = 'until then nobody is added or removed in it';
  return [failure(`tool ${tool}`, new Error(sayOtherServer(tool, bound, told)), action)];
}

function ask(adapter: Adapter, settings: object, stopping: AbortSignal): Promise<Server> {
  return callTool(askTimeoutMs, stopping, (signal) => askServer(adapter, placeOf(settings), signal));
}
