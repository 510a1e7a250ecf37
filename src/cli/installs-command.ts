import type { Install } from '../installs/install.ts';
import { createInstallStore } from '../installs/install-store.ts';
import { removeInstall } from '../operator/remove-install.ts';
import { createInstallStateStore } from '../reconcile/read/install-state-store.ts';
import type { Printed } from './define-command.ts';
import { pickInstall } from './pick-install.ts';
import type { ServicesSession, StorageSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { decidedBy, loadRegistry } from './with-storage.ts';

/** `gangway installs`: the customers that are connected. */

export async function runInstallsList(_given: object, session: StorageSession): Promise<Printed> {
  const registry = await loadRegistry(session);
  const rows = await createInstallStateStore(session.storage.database).list();
  const states = new Map(rows.map((state) => [state.install, state]));
  const installs = [...registry.installs].map(([install, { livesIn, tool, projects }]): ListedInstall => {
    const { readBeganAt: readAt = null, failure = null } = states.get(install) ?? {};
    return { install, livesIn, tool, projects, readAt, failure };
  });
  return printInstalls(installs);
}

export function printInstalls(installs: readonly ListedInstall[]): Printed {
  const whenEmpty = 'No customer is connected yet: gangway connect <a name for them>';
  return { data: { installs }, text: () => formatList(installs, columns, whenEmpty) };
}

/** An install as an operator may see it: without its token. */
export interface ListedInstall extends Pick<Install, 'livesIn' | 'tool' | 'projects'> {
  install: string;
  /** When the last complete reading began; null before the first. */
  readAt: string | null;
  /** Why it could not be read since. */
  failure: string | null;
}

const columns: Columns<ListedInstall> = [
  ['install', ({ install }) => install],
  ['stands in', ({ livesIn }) => livesIn],
  ['tool', ({ tool }) => tool],
  ['projects', ({ projects }) => projects.join(', ')],
  ['last read', ({ readAt }) => readAt ?? 'never'],
  ['trouble', ({ failure }) => failure],
];

export async function runInstallsRemove(
  { install: named, acceptOrphans }: { install: string; acceptOrphans: boolean },
  session: ServicesSession,
): Promise<Printed> {
  const { services, storage } = session;
  const install = pickInstall(session, services.installs, named);
  const installStore = createInstallStore(storage.database, storage.box);
  await removeInstall({ ...services, installStore, by: decidedBy() }, install, acceptOrphans);
  return printRemoved(install);
}

export function printRemoved(install: string): Printed {
  return { data: { install }, text: () => `${install} is forgotten, with its token.` };
}
