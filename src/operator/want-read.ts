import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import type { Storage } from '../keys/storage.ts';
import { retryFailedOfInstalls } from '../memberships/membership-store.ts';
import { wantRead as wantInstallRead } from '../reconcile/read/install-state-store.ts';

/** Has a running instance read installs completely. What is found is applied, and the brake holds what would be too much. */
export async function wantRead(ctx: Storage, by: By, installs: readonly string[]): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    // A refusal of a tool may be mended by now, and the operator is not to wait for the next hour.
    await retryFailedOfInstalls(tx, installs, by.at);
    await wantInstallRead(tx, installs, by.at, 'operator');
    await writeAudit(tx, by, 'reconcile', installs.join(', '));
  });
}
