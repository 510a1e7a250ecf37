import type { By } from '../db/audit-store.ts';
import type { Database } from '../db/database.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { createDoubtStore } from '../memberships/doubt-store.ts';
import type { MembershipStore } from '../memberships/membership-store.ts';
import { createOwnershipStore } from '../memberships/ownership-store.ts';

export interface Release {
  membership: number;
  /** The account of which it is not known whose it is, and not the membership. */
  doubted: boolean;
}

interface ReleaseDeps {
  database: Database;
  box: SecretBox;
  memberships: MembershipStore;
  managedDomains: readonly string[];
}

/**
 * Lets an account in doubt go, or a membership.
 *
 * @throws AppError `not_found`, or `conflict` where there is nothing to release, or where an account is in doubt that
 *   has to be decided first
 */
export async function releaseMembership(
  { database, box, memberships, managedDomains }: ReleaseDeps,
  { membership, doubted }: Release,
  by: By,
): Promise<'let_go' | 'released'> {
  if (doubted) return await createDoubtStore(database, box).release(membership, by);
  return await createOwnershipStore(database, memberships).release(membership, managedDomains, by);
}
