import { type By, writeAudit } from '../db/audit-store.ts';
import { type Database, inTransaction } from '../db/database.ts';
import type { MembershipStore } from '../memberships/membership-store.ts';
import type { InstallStateStore } from '../reconcile/read/install-state-store.ts';

interface WantReadDeps {
  database: Database;
  installStates: Pick<InstallStateStore, 'wantRead'>;
  memberships: Pick<MembershipStore, 'retryFailed'>;
  by: By;
}

/** Has a running instance read installs completely. What is found is applied, and the brake holds what would be too much. */
export async function wantRead(
  { database, installStates, memberships, by }: WantReadDeps,
  installs: readonly string[],
): Promise<void> {
  await inTransaction(database, async (tx) => {
    // A refusal of a tool may be mended by now, and the operator is not to wait for the next hour.
    await memberships.retryFailed(tx, installs, by.at);
    await installStates.wantRead(tx, [...installs], by.at, 'operator');
    await writeAudit(tx, by, 'reconcile', installs.join(', '));
  });
}
