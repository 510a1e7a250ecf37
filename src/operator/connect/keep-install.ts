import type { Adapter } from '../../adapters/adapter.ts';
import { type By, writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import type { InstallRegistry } from '../../installs/install-registry.ts';
import type { ConnectedInstall, InstallStore } from '../../installs/install-store.ts';
import { refuseOrphaning } from '../../memberships/check-orphans.ts';
import type { OrphanDeps } from '../../memberships/find-orphans.ts';
import { createLinkRouter } from '../../memberships/link-router.ts';
import type { RoutedInstalls } from '../../memberships/wall.ts';
import { type Destination, describeDestination } from './settle-destination.ts';

export interface KeepInstallDeps extends OrphanDeps {
  registry: InstallRegistry;
  installStore: InstallStore;
  adapters: ReadonlyMap<string, Adapter>;
  by: By;
}

/**
 * Stores an install that was connected, where every instance finds it.
 *
 * @param acceptsOrphans whether to go on although memberships would be orphaned
 * @throws AppError `conflict` where memberships would be orphaned
 */
export async function keepInstall(
  deps: KeepInstallDeps,
  install: ConnectedInstall,
  acceptsOrphans: boolean,
): Promise<void> {
  const { database, registry, installStore, adapters, by } = deps;
  const next = installsWith(registry, install.install, install);
  if (!acceptsOrphans) await refuseOrphaning(deps, createLinkRouter(next, adapters));
  const before = registry.installs.get(install.install);
  await installStore.save(install);
  const change = {
    before: before === undefined ? null : describeDestination(before),
    after: describeDestination(install),
  };
  await inTransaction(database, (tx) => writeAudit(tx, by, 'connect', install.install, change));
  await registry.load();
}

/** All installs, with one of them as it is to be. */
export function installsWith({ installs }: InstallRegistry, install: string, next: Destination): RoutedInstalls {
  return new Map([...installs, [install, next]]);
}
