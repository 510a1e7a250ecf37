import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { retryFailedOfInstalls } from '../memberships/membership-store.ts';
import { wantRead as wantInstallRead } from '../reconcile/read/install-state-store.ts';
import type { Acting } from './acting.ts';

/** Has a running instance read installs completely. What is found is applied, and the brake holds what would be too much. */
export async function wantRead(ctx: Acting, installs: readonly string[]): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    // A refusal of a tool may be mended by now, and the operator is not to wait for the next hour.
    await retryFailedOfInstalls(tx, installs, ctx.by.at);
    await wantInstallRead(tx, installs, ctx.by.at, 'operator');
    await writeAudit(tx, ctx.by, 'reconcile', installs.join(', '));
  });
}
