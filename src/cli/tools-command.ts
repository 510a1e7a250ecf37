import { Command } from 'commander';
import type { Server } from '../domain/binding.ts';
import { acceptServer, listServers } from '../operator/tool-servers.ts';
import { decidedBy, print, withStorage } from './command-context.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { withWorks } from './with-works.ts';

/** `gangway tools`: which servers they are, and that another is meant. */
export function createToolsCommand(terminal: Terminal): Command {
  return new Command('tools')
    .description('the tools that are configured, and the servers that their people are in')
    .addCommand(createListCommand(terminal), { isDefault: true })
    .addCommand(createAcceptCommand(terminal));
}

function createListCommand(terminal: Terminal): Command {
  return new Command('list')
    .description('list them, with the server that each was when it was first asked')
    .option('--json', 'print one JSON object instead of a table')
    .action(({ json }: { json?: true }, command: Command) =>
      withStorage(command, async ({ database }, config) => {
        const tools = await listServers(database, config.tools);
        print(terminal, json, { tools }, () =>
          formatTable(
            ['tool', 'stands at', 'its people are in'],
            tools.map(({ tool, place, bound }) => [
              tool,
              place ?? '',
              bound === null ? 'not asked yet' : sayServer(bound),
            ]),
          ),
        );
      }),
    );
}

function createAcceptCommand(terminal: Terminal): Command {
  return new Command('accept')
    .description('take the server that a tool leads to now as the one that its people are in')
    .argument('<tool>', 'its name in the configuration')
    .option('--json', 'print one JSON object instead of text')
    .action((tool: string, { json }: { json?: true }, command: Command) =>
      withWorks(terminal, command, false, async ({ database }, { config, adapters }) => {
        const [adapter, settings] = [adapters.get(tool), config.tools.get(tool)?.settings];
        if (adapter === undefined || settings === undefined) {
          const known = [...adapters.keys()].join(', ');
          command.error(`error: there is no tool "${tool}"; there is: ${known}`);
        }
        const asked = { tool, adapter, settings };
        const deps = { database, by: decidedBy() };
        const server = await acceptServer(deps, asked, terminal.signal);
        print(terminal, json, { tool, ...server }, () => `${tool} is ${sayServer(server)} now.`);
      }),
    );
}

function sayServer({ identity, place }: Server): string {
  return [identity, place].filter((part) => part !== null).join(' at ');
}
