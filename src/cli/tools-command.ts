import type { Server } from '../domain/binding.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { acceptServer, listServers, type ToolServer } from '../operator/tool-servers.ts';
import type { Printed } from './define-command.ts';
import type { ServicesSession, StorageSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

/** `gangway tools`: the server that each tool is bound to, and how to accept another one. */

export async function runToolsList(_given: object, { config, storage }: StorageSession): Promise<Printed> {
  const tools = await listServers(storage, config.tools);
  return printTools(tools);
}

export function printTools(tools: readonly ToolServer[]): Printed {
  return { data: { tools }, text: () => formatList(tools, columns, 'No tool is configured.') };
}

const columns: Columns<ToolServer> = [
  ['tool', ({ tool }) => tool],
  ['stands at', ({ location }) => location],
  ['its people are in', ({ bound }) => (bound === null ? 'not asked yet' : sayServer(bound))],
];

export async function runToolsAccept(
  { tool }: { tool: string },
  { terminal, services, config, misuse }: ServicesSession,
): Promise<Printed> {
  const [adapter, settings] = [services.adapters.get(tool), config.tools.get(tool)?.settings];
  if (adapter === undefined || settings === undefined) {
    return misuse(`there is no tool "${tool}"; there is: ${[...services.adapters.keys()].join(', ')}`);
  }
  const server = await acceptServer(services, decidedBy(), { tool, adapter, settings }, terminal.signal);
  return printAccepted(tool, server);
}

export function printAccepted(tool: string, server: Server): Printed {
  return { data: { tool, ...server }, text: () => `${tool} is ${sayServer(server)} now.` };
}

function sayServer({ identity, location }: Server): string {
  return [identity, location].filter((part) => part !== null).join(' at ');
}
