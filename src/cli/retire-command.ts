import { listOrphans, type OrphanedMembership, type Retired, retireOrphans } from '../memberships/ownership-store.ts';
import { formatList } from '../operations/text-table.ts';
import type { Printed } from './define-command.ts';
import { refuseUnknownInstall, refuseUnknownTool } from './pick-install.ts';
import type { StorageSession } from './session.ts';
import { decidedBy } from './with-storage.ts';

export interface RetireOptions {
  install: string | undefined;
  tool: string | undefined;
  yes: boolean;
}

/** `gangway retire`: memberships whose configuration is gone are removed by this command alone. */
export async function runRetire({ install, tool, yes }: RetireOptions, session: StorageSession): Promise<Printed> {
  const { storage } = session;
  const orphans = await listOrphans(storage, { install, tool });
  if (orphans.length === 0) {
    await refuseUnknownInstall(session, install);
    refuseUnknownTool(session, tool);
  }
  const tools = new Set(session.config.tools.keys());
  if (!yes) return printOrphans(orphans, tools);
  return printRetired(orphans, await retireOrphans(storage, orphans, tools, decidedBy()));
}

export function printOrphans(orphans: readonly OrphanedMembership[], tools: ReadonlySet<string>): Printed {
  return { data: { orphans, retired: null }, text: () => toTable(orphans, tools) };
}

export function printRetired(orphans: readonly OrphanedMembership[], retired: Retired): Printed {
  return { data: { orphans, retired }, text: () => toText(retired) };
}

const noOrphans = 'There is no trainer to retire: people are orphaned once "gangway start --accept-orphans" has run.';

function toText({ removing, released, kept }: Retired): string {
  if (removing + released + kept === 0) return noOrphans;
  const left = released === 0 ? '' : ` ${released} are kept: their tool is not configured.`;
  const wanted = kept === 0 ? '' : ` ${kept} stay: they are wanted in the same group by another membership.`;
  return `${removing} will be removed.${left}${wanted}`;
}

function sayFate({ tool, wantedBy }: OrphanedMembership, tools: ReadonlySet<string>): string {
  if (!tools.has(tool)) return 'kept';
  return wantedBy === null ? 'removed' : `kept: wanted by membership ${wantedBy}`;
}

function toTable(orphans: readonly OrphanedMembership[], tools: ReadonlySet<string>): string {
  if (orphans.length === 0) return noOrphans;
  const table = formatList(
    orphans,
    [
      ['membership', ({ id }) => id],
      ['install', ({ install }) => install],
      ['tool', ({ tool }) => tool],
      ['group', ({ groupId }) => groupId],
      ['trainer', ({ trainerId }) => trainerId],
      ['would be', (orphan) => sayFate(orphan, tools)],
    ],
    noOrphans,
  );
  return `${table}\n\nNothing was done: --yes retires them.`;
}
