import type { Adapter } from '../../adapters/adapter.ts';
import { isOtherServer, type Server } from '../../domain/binding.ts';
import type { Storage } from '../../keys/storage.ts';
import { askServer, describeOtherServer, describeTwin, findTwin, locationOf } from '../../tools/bind-tool.ts';
import { callTool } from '../../tools/call-tool.ts';
import { findToolBinding } from '../../tools/tool-binding-store.ts';
import { type Check, failure } from './doctor-checks.ts';

const askTimeoutMs = 15_000;

/** Empty where the tool does not answer: another check reports that. */
export async function checkServer(
  ctx: Storage,
  { tool, adapter, settings }: { tool: string; adapter: Adapter; settings: object },
  configured: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Check[]> {
  const bound = await findToolBinding(ctx, tool);
  const server = await askTool(adapter, settings, signal).catch(() => undefined);
  if (server === undefined) return [];
  const fail = (why: string) => [
    failure(
      `server of ${tool}`,
      new Error(why),
      'Settle which server is right. Until then no member is added or removed in the tool',
    ),
  ];
  if (bound !== undefined && isOtherServer(bound, server)) return fail(describeOtherServer(tool, bound, server));
  const twin = await findTwin(ctx, configured, tool, server);
  return twin === undefined ? [] : fail(describeTwin(tool, twin));
}

/** Which server a tool leads to now. */
export function askTool(adapter: Adapter, settings: object, stopping: AbortSignal): Promise<Server> {
  return callTool(askTimeoutMs, stopping, (signal) => askServer(adapter, locationOf(settings), signal));
}
