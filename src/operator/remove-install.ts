import { dropPayments } from '../budget/payment-store.ts';
import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { RouteLink } from '../domain/route.ts';
import { dropFeed } from '../feed/feed-store.ts';
import { removeConnectedInstall } from '../installs/install-store.ts';
import { dropSubscription } from '../installs/subscription/subscription-store.ts';
import { refuseOrphaning } from '../memberships/check-orphans.ts';
import { postponeInstalls } from '../memberships/derivation-store.ts';
import { describeDestination } from './connect/settle-destination.ts';

/**
 * Forgets an install that was connected by command, with its token and secrets. No member is removed: memberships
 * that only this install led to are orphaned.
 *
 * @throws AppError `invalid` where it stands in the configuration; `conflict` where trainers are in a tool by it and that is not accepted
 */
export async function removeInstall(ctx: Context, by: By, install: string, acceptsOrphans: boolean): Promise<void> {
  const { database, installs } = ctx;
  const known = installs.get(install);
  if (known?.livesIn === 'configuration') {
    throw new AppError('invalid', `${install} stands in the configuration: take it out there`);
  }
  const routeLink: RouteLink = (link) => (link.install === install ? undefined : ctx.routeLink(link));
  if (!acceptsOrphans) await refuseOrphaning(ctx, routeLink);
  await inTransaction(database, async (tx) => {
    await removeConnectedInstall(tx, install);
    await dropSubscription(tx, install);
    await dropFeed(tx, install);
    await dropPayments(tx, install);
    await postponeInstalls(tx, [install]);
    await writeAudit(tx, by, 'installs remove', install, { before: known && describeDestination(known) });
  });
}
