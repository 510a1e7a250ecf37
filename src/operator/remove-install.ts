import { dropPayments } from '../budget/payment-store.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { dropFeed } from '../feed/feed-store.ts';
import type { Install } from '../installs/install.ts';
import type { InstallStore } from '../installs/install-store.ts';
import { dropSubscription } from '../installs/subscription/subscription-store.ts';
import { refuseOrphaning } from '../memberships/check-orphans.ts';
import type { OrphanDeps } from '../memberships/find-orphans.ts';
import type { RouteLink } from '../memberships/link-router.ts';
import { describeDestination } from './connect/settle-destination.ts';

interface RemoveDeps extends OrphanDeps {
  installs: ReadonlyMap<string, Install>;
  installStore: InstallStore;
  by: By;
}

/**
 * Forgets an install that was connected by command, with its token and secrets. No member is removed: memberships
 * that only this install led to are orphaned.
 *
 * @throws AppError `invalid` where it stands in the configuration; `conflict` where trainers are in a tool by it and that is not accepted
 */
export async function removeInstall(deps: RemoveDeps, install: string, acceptsOrphans: boolean): Promise<void> {
  const { database, rules, installs, installStore, by } = deps;
  const known = installs.get(install);
  if (known?.livesIn === 'configuration') {
    throw new AppError('invalid', `${install} stands in the configuration: take it out there`);
  }
  const routeLink: RouteLink = (link) => (link.install === install ? undefined : rules.routeLink(link));
  if (!acceptsOrphans) await refuseOrphaning(deps, routeLink);
  await inTransaction(database, async (tx) => {
    await installStore.remove(tx, install);
    await dropSubscription(tx, install);
    await dropFeed(tx, install);
    await dropPayments(tx, install);
    await deps.memberships.postponeInstalls(tx, [install]);
    await writeAudit(tx, by, 'installs remove', install, { before: known && describeDestination(known) });
  });
}
