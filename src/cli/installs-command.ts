import { AppError } from '../domain/errors.ts';
import { createInstallStore } from '../installs/install-store.ts';
import { type ListedInstall, listInstalls as list } from '../operator/list-installs.ts';
import { removeInstall as remove } from '../operator/remove-install.ts';
import type { Printed } from './define-command.ts';
import { pickInstall } from './pick-install.ts';
import type { ServicesSession, StorageSession } from './session.ts';
import { type Columns, formatList } from './table.ts';
import { decidedBy, loadRegistry } from './with-storage.ts';

/** `gangway installs`: the customers that are connected. */

export async function listInstalls(_given: object, session: StorageSession): Promise<Printed> {
  const registry = await loadRegistry(session);
  const installs = await list(session.storage.database, registry.installs);
  const whenEmpty = 'Nobody is connected yet: gangway connect <a name for them>';
  return { data: { installs }, text: () => formatList(installs, columns, whenEmpty) };
}

const columns: Columns<ListedInstall> = [
  ['install', ({ install }) => install],
  ['stands in', ({ livesIn }) => livesIn],
  ['tool', ({ tool }) => tool],
  ['projects', ({ projects }) => projects.join(', ')],
  ['last read', ({ readAt }) => readAt ?? 'never'],
  ['trouble', ({ failure }) => failure],
];

export async function removeInstall(
  { install: named, acceptOrphans }: { install: string; acceptOrphans: boolean },
  session: ServicesSession,
): Promise<Printed> {
  const { services, storage } = session;
  const install = pickInstall(session, services.installs, named);
  if (services.installs.get(install)?.livesIn === 'configuration') {
    throw new AppError('invalid', `${install} stands in the configuration: take it out there`);
  }
  const installStore = createInstallStore(storage.database, storage.box);
  await remove({ ...services, installStore, by: decidedBy() }, install, acceptOrphans);
  return { data: { install }, text: () => `${install} is forgotten, with its token.` };
}
