import { Command } from 'commander';
import type { Services } from '../app/services.ts';
import { AppError } from '../domain/errors.ts';
import { addLink, findLink, removeLink } from '../operator/links/change-links.ts';
import { type ListedLinks, listLinks } from '../operator/links/list-links.ts';
import { decidedBy, print } from './command-context.ts';
import { pickInstall } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { withWorksCallingNoTool } from './with-works.ts';

/** `gangway links`: which projects are linked at the marketplace. */
export function createLinksCommand(terminal: Terminal): Command {
  return new Command('links')
    .description('which projects are linked at the marketplace, and where they lead')
    .addCommand(createListCommand(terminal), { isDefault: true })
    .addCommand(createAddCommand(terminal))
    .addCommand(createRemoveCommand(terminal));
}

interface ListOptions {
  install?: string;
  json?: true;
}

function createListCommand(terminal: Terminal): Command {
  return new Command('list')
    .description('list the links as the marketplace has them now')
    .option('--install <name>', 'only those of one install')
    .option('--json', 'print one JSON object instead of a table')
    .action(({ install, json }: ListOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, true, async (works, { adapters }) => {
        const { installs, platformApis, rules } = works;
        const all = [...installs.keys()];
        const chosen = install === undefined ? all : [pickInstall(command, installs, install)];
        const { scopeOf, scopes } = works.usage.deps;
        const deps = {
          installs,
          adapters,
          platformApis,
          routeLink: rules.routeLink,
          scopeOf,
          scopes: await scopes.list(),
        };
        const listed = await listLinks(deps, chosen, terminal.signal);
        print(terminal, json, listed, () => toTable(listed));
        const [unread] = listed.unread;
        if (unread !== undefined) {
          throw new AppError('unavailable', `${unread.install}: ${unread.failure}`);
        }
      }),
    );
}

function toTable({ links }: ListedLinks): string {
  if (links.length === 0) return 'No project is linked.';
  return formatTable(
    ['install', 'link', 'project', 'job', 'leads', 'tool', 'group', 'work', 'name'],
    links.map((link) => [
      link.install,
      link.linkId,
      link.project,
      link.jobId ?? '(none)',
      leadsOf(link),
      link.tool ?? '',
      link.groupId ?? '',
      workOf(link),
      link.name ?? '',
    ]),
  );
}

function workOf({ work }: ListedLinks['links'][number]): string {
  if (work === null) return '';
  const { state, readAt, failure } = work;
  if (state === 'read') return `read ${readAt}`;
  if (state === 'unread') return 'not read yet';
  const never = readAt === null ? 'never read' : `read last ${readAt}`;
  return state === 'gone' ? `gone, ${never}` : `${never}: ${failure}`;
}

function leadsOf({ leads, outside }: ListedLinks['links'][number]): string {
  return outside === null ? leads : `${leads} (${outside.replace('_', ' ')})`;
}

interface AddOptions extends ListOptions {
  job?: string;
  name?: string;
  url?: string;
  managed?: true;
}

function createAddCommand(terminal: Terminal): Command {
  return new Command('add')
    .description('link a project of your tool, so that people are hired into it')
    .argument('<project>', "your tool's id of the project")
    .option('--install <name>', 'of which install, where there are several')
    .option('--job <id>', "the customer's job; without one nobody is ever hired by it")
    .option('--name <name>', 'what the project is called')
    .option('--url <url>', 'where it is found')
    .option('--managed', 'the marketplace provisions it by itself, and Gangway does not')
    .option('--json', 'print one JSON object instead of text')
    .action((project: string, options: AddOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, false, async (works, { adapters }) => {
        const install = pickInstall(command, works.installs, options.install);
        const { job, name, url, managed, json } = options;
        const wanted = {
          externalProjectId: project,
          ...(job !== undefined && { jobId: job }),
          ...(name !== undefined && { externalProjectName: name }),
          ...(url !== undefined && { externalProjectUrl: url }),
          ...(managed && { provisioningMode: 'MANAGED_ADAPTER' as const }),
        };
        const deps = { ...works, adapters, by: decidedBy() };
        const api = apiOf(works, install);
        const { id } = await addLink(deps, api, install, wanted, terminal.signal);
        print(terminal, json, { install, linkId: id, project }, () => `Linked ${project}: ${id}`);
      }),
    );
}

interface RemoveOptions extends ListOptions {
  yes?: true;
}

function createRemoveCommand(terminal: Terminal): Command {
  return new Command('remove')
    .description('remove a link for good: whoever is in the project by it alone is taken out')
    .argument('<link>', 'its id, or the project')
    .option('--install <name>', 'of which install, where there are several')
    .option('--yes', 'do it; without, it is only shown')
    .option('--json', 'print one JSON object instead of text')
    .action((named: string, { install: of, yes, json }: RemoveOptions, command: Command) =>
      withWorksCallingNoTool(terminal, command, yes === undefined, async (works) => {
        const install = pickInstall(command, works.installs, of);
        const { signal } = terminal;
        const api = apiOf(works, install);
        const { id, externalProjectId: project } = await findLink(api, named, signal);
        const isRemoved = yes === true;
        if (isRemoved) await removeLink({ ...works, by: decidedBy() }, api, install, id, signal);
        const what = `the link ${id} of ${install} to ${project}`;
        print(terminal, json, { install, linkId: id, project, isRemoved }, () =>
          isRemoved
            ? `Removed ${what}; people are taken out after the grace, unless it is linked again.`
            : `This would remove ${what}. Nothing was done: --yes removes it.`,
        );
      }),
    );
}

function apiOf({ platformApis }: Pick<Services, 'platformApis'>, install: string) {
  const api = platformApis.get(install);
  if (api === undefined) throw new AppError('not_found', `There is no install "${install}"`);
  return api;
}
