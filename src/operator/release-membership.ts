import type { By } from '../db/audit-store.ts';
import type { Database } from '../db/database.ts';
import type { SecretBox } from '../keys/secret-box.ts';
import { createDoubtStore, noDoubt } from '../memberships/doubt-store.ts';
import type { MembershipStore } from '../memberships/membership-store.ts';
import { createOwnershipStore } from '../memberships/ownership-store.ts';

export interface Release {
  membership: number;
  /** Only the account of which it is not known whose it is. To say that twice must not let the trainer stay. */
  doubted: boolean;
}

interface ReleaseDeps {
  database: Database;
  box: SecretBox;
  memberships: MembershipStore;
  managedDomains: readonly string[];
}

/**
 * Lets an account go, or a membership. If it is not known whose the account is, the account is released first.
 *
 * @throws AppError `not_found`, or `conflict` where there is nothing to release
 */
export async function releaseMembership(
  { database, box, memberships, managedDomains }: ReleaseDeps,
  { membership, doubted }: Release,
  by: By,
): Promise<'let_go' | 'released'> {
  if (await createDoubtStore(database, box).release(membership, by)) return 'let_go';
  if (doubted) throw noDoubt(membership);
  return await createOwnershipStore(database, memberships).release(membership, managedDomains, by);
}
