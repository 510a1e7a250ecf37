import { Command } from 'commander';
import { AppError } from '../domain/errors.ts';
import { createInstallStore } from '../installs/install-store.ts';
import { type ListedInstall, listInstalls } from '../operator/list-installs.ts';
import { removeInstall } from '../operator/remove-install.ts';
import { decidedBy, loadRegistry, print, withStorage } from './command-context.ts';
import { pickInstall } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { withWorksCallingNoTool } from './with-works.ts';

/** `gangway installs`: the customers that are connected. */
export function createInstallsCommand(terminal: Terminal): Command {
  return new Command('installs')
    .description('the customers that are connected, by configuration or by command')
    .addCommand(createListCommand(terminal), { isDefault: true })
    .addCommand(createRemoveCommand(terminal));
}

function createListCommand(terminal: Terminal): Command {
  return new Command('list')
    .description('list them, and when each was last read from the marketplace')
    .option('--json', 'print one JSON object instead of a table')
    .action(({ json }: { json?: true }, command: Command) =>
      withStorage(command, async (storage, config) => {
        const { installs: all } = await loadRegistry({ config }, storage);
        const installs = await listInstalls(storage.database, all);
        print(terminal, json, { installs }, () => toTable(installs));
      }),
    );
}

function toTable(installs: ListedInstall[]): string {
  if (installs.length === 0) return 'Nobody is connected yet: gangway connect <a name for them>';
  return formatTable(
    ['install', 'stands in', 'tool', 'projects', 'last read', 'trouble'],
    installs.map(({ install, livesIn, tool, projects, readAt, failure }) => [
      install,
      livesIn,
      tool,
      projects.join(', '),
      readAt ?? 'never',
      failure ?? '',
    ]),
  );
}

interface RemoveOptions {
  acceptOrphans?: true;
  json?: true;
}

function createRemoveCommand(terminal: Terminal): Command {
  return new Command('remove')
    .description('forget one that was connected by command, with its token; removes nobody')
    .argument('<install>', 'its name')
    .option('--accept-orphans', 'although it leads to people who are in a tool: they are kept')
    .option('--json', 'print one JSON object instead of text')
    .action((named: string, { acceptOrphans, json }: RemoveOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, false, async (works, { storage }) => {
        const install = pickInstall(command, works.installs, named);
        if (works.installs.get(install)?.livesIn === 'configuration') {
          throw new AppError('invalid', `${install} stands in the configuration: take it out there`);
        }
        const installStore = createInstallStore(storage.database, storage.box);
        const deps = { ...works, installStore, by: decidedBy() };
        await removeInstall(deps, install, acceptOrphans === true);
        print(terminal, json, { install }, () => `${install} is forgotten, with its token.`);
      }),
    );
}
