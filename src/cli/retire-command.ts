import { Command } from 'commander';
import { createOwnershipStore, type OrphanedMembership, type Retired } from '../memberships/ownership-store.ts';
import { decidedBy, print, withStorage } from './command-context.ts';
import { refuseUnknownInstall, refuseUnknownTool } from './pick-install.ts';
import { formatTable } from './table.ts';
import type { Terminal } from './terminal.ts';

interface RetireOptions {
  install?: string;
  tool?: string;
  all?: true;
  yes?: true;
  json?: true;
}

/** `gangway retire`: the only way that memberships go with their configuration. */
export function createRetireCommand(terminal: Terminal): Command {
  return new Command('retire')
    .description('remove those whose install, tool or group is no longer configured')
    .option('--install <name>', 'those of one install')
    .option('--tool <name>', 'those in one tool')
    .option('--all', 'all of them')
    .option('--yes', 'do it; without, they are only listed')
    .option('--json', 'print one JSON object instead of text')
    .action(async ({ install, tool, all, yes, json }: RetireOptions, command: Command) => {
      if (install === undefined && tool === undefined && !all) {
        command.error('error: name them with --install or --tool, or use --all');
      }
      await withStorage(command, async (storage, config) => {
        const ownership = createOwnershipStore(storage.database, storage.memberships);
        const orphans = await ownership.orphans({ install, tool });
        if (orphans.length === 0) {
          await refuseUnknownInstall(command, storage, config, install);
          refuseUnknownTool(command, config, tool);
        }
        const tools = new Set(config.tools.keys());
        if (!yes) {
          return print(terminal, json, { orphans, retired: null }, () => toTable(orphans, tools));
        }
        const retired = await ownership.retire(orphans, tools, decidedBy());
        print(terminal, json, { orphans, retired }, () => toText(retired));
      });
    });
}

const nobody = 'There is nobody to retire: people are orphaned once "gangway start --accept-orphans" has run.';

function toText({ removing, released }: Retired): string {
  if (removing + released === 0) return nobody;
  const left = released === 0 ? '' : ` ${released} are left in place: their tool is not configured.`;
  return `${removing} will be removed.${left}`;
}

function toTable(orphans: OrphanedMembership[], tools: ReadonlySet<string>): string {
  if (orphans.length === 0) return nobody;
  const table = formatTable(
    ['membership', 'install', 'tool', 'group', 'trainer', 'would be'],
    orphans.map(({ id, install, tool, groupId, trainerId }) => [
      id,
      install,
      tool,
      groupId,
      trainerId,
      tools.has(tool) ? 'removed' : 'left in place',
    ]),
  );
  return `${table}\n\nNothing was done: --yes retires them.`;
}
