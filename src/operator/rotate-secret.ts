import type { Context } from '../context.ts';
import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { type RotatedEndpoint, rotateEndpoint } from '../installs/subscription/rotate-endpoint.ts';

/** Gives the webhook endpoint of an install a new secret, by a new endpoint. @throws AppError as `rotateEndpoint` */
export async function rotateSecret(
  ctx: Context,
  by: By,
  install: string,
  signal: AbortSignal,
): Promise<RotatedEndpoint> {
  const rotated = await rotateEndpoint(ctx, install, { signal });
  const change = { before: rotated.replaced.join(', '), after: rotated.endpointId };
  await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'endpoint rotate', install, change));
  return rotated;
}
