import type { By } from '../db/audit-store.ts';
import type { Storage } from '../keys/storage.ts';
import { releaseDoubted } from '../memberships/doubt-store.ts';
import { releaseMember } from '../memberships/ownership-store.ts';

export interface Release {
  membership: number;
  /** The account of which it is not known whose it is, and not the membership. */
  doubted: boolean;
}

/**
 * Lets an account in doubt go, or a membership.
 *
 * @throws AppError `not_found`, or `conflict` where there is nothing to release, or where an account is in doubt that
 *   has to be decided first
 */
export async function releaseMembership(
  ctx: Storage,
  by: By,
  { membership, doubted }: Release,
  managedDomains: readonly string[],
): Promise<'let_go' | 'released'> {
  if (doubted) return await releaseDoubted(ctx, membership, by);
  return await releaseMember(ctx, membership, managedDomains, by);
}
