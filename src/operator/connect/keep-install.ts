import type { Adapter } from '../../adapters/adapter.ts';
import { type By, writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { type Install, ofPlatform } from '../../installs/install.ts';
import type { InstallRegistry } from '../../installs/install-registry.ts';
import type { ConnectedInstall, InstallStore } from '../../installs/install-store.ts';
import { refuseOrphaning } from '../../memberships/check-orphans.ts';
import type { OrphanDeps } from '../../memberships/find-orphans.ts';
import { createLinkRouter, type RouteLink } from '../../memberships/link-router.ts';
import { describeDestination } from './settle-destination.ts';

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
  const { database, registry, installStore, by } = deps;
  if (!acceptsOrphans) await refuseOrphaning(deps, routeWith(deps, install));
  const before = registry.installs.get(install.install);
  await installStore.save(install);
  const change = {
    before: before === undefined ? null : describeDestination(before),
    after: describeDestination(install),
  };
  await inTransaction(database, (tx) => writeAudit(tx, by, 'connect', install.install, change));
  await registry.load();
}

/** Where everything would lead with an install as it is to be. */
function routeWith({ registry, adapters }: KeepInstallDeps, connected: ConnectedInstall): RouteLink {
  const { token, tool, projects } = connected;
  const install: Install = { ...ofPlatform, token, tool, projects, webhookSecrets: [], livesIn: 'database' };
  const installs = new Map([...registry.installs, [connected.install, install]]);
  return createLinkRouter(installs, adapters);
}
