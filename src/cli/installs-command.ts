import { systemClock } from '../lib/clock.ts';
import type { Columns } from '../operations/show.ts';
import { formatList } from '../operations/text-table.ts';
import { type ListedInstall, listInstalls } from '../operator/list-installs.ts';
import { removeInstall } from '../operator/remove-install.ts';
import type { Printed } from './define-command.ts';
import { pickInstall } from './pick-install.ts';
import type { ServicesSession, StorageSession } from './session.ts';
import { decidedBy, loadRegistry } from './with-storage.ts';

/** `gangway installs`: the customers that are connected. */

export async function runInstallsList(_given: object, session: StorageSession): Promise<Printed> {
  const registry = await loadRegistry(session);
  return printInstalls(await listInstalls(session.storage, registry.installs, systemClock.now()));
}

export function printInstalls(installs: readonly ListedInstall[]): Printed {
  const whenEmpty = 'No customer is connected yet: gangway connect <a name for them>';
  return { data: { installs }, text: () => formatList(installs, columns, whenEmpty) };
}

const columns: Columns<ListedInstall> = [
  ['install', ({ install }) => install],
  ['stands in', ({ livesIn }) => livesIn],
  ['tool', ({ tool }) => tool],
  ['projects', ({ projects }) => projects.join(', ')],
  ['last read', ({ readAt }) => readAt ?? 'never'],
  ['trouble', ({ troubles }) => troubles.join('; ')],
];

export async function runInstallsRemove(
  { install: named, acceptOrphans }: { install: string; acceptOrphans: boolean },
  session: ServicesSession,
): Promise<Printed> {
  const { services } = session;
  const install = pickInstall(session, services.installs, named);
  await removeInstall(services, decidedBy(), install, acceptOrphans);
  return printRemoved(install);
}

export function printRemoved(install: string): Printed {
  return { data: { install }, text: () => `${install} is forgotten, with its token.` };
}
