import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import type { SubscriptionDeps } from '../installs/subscription/look-at-subscription.ts';
import { type RotatedEndpoint, rotateEndpoint } from '../installs/subscription/rotate-endpoint.ts';

interface RotateDeps {
  database: Database;
  subscription: SubscriptionDeps;
  by: By;
}

/** Gives the webhook endpoint of an install a new secret, by a new endpoint. @throws AppError as `rotateEndpoint` */
export async function rotateSecret(
  { database, subscription, by }: RotateDeps,
  install: string,
  signal: AbortSignal,
): Promise<RotatedEndpoint> {
  const rotated = await rotateEndpoint(subscription, install, { signal });
  const change = { before: rotated.replaced.join(', '), after: rotated.endpointId };
  await inTransaction(database, (tx) => writeAudit(tx, by, 'endpoint rotate', install, change));
  return rotated;
}
