import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { Storage } from '../keys/storage.ts';
import { findMembership, lookAtMemberships } from '../memberships/look-store.ts';

/**
 * Has a membership looked at now, and brought in line with what is wanted. What waits for the brake, an operator, an
 * address or a reading goes on waiting.
 *
 * @throws AppError `not_found`, or `conflict` where it waits for something else
 */
export async function convergeNow(ctx: Storage, by: By, id: number): Promise<void> {
  await inTransaction(ctx.database, async (tx) => {
    const found = await findMembership(tx, id);
    if (found === undefined) throw new AppError('not_found', `There is no membership ${id}`);
    if (!found.isWorkable) {
      throw new AppError('conflict', `Membership ${id} is ${found.state}: it waits for something else than its turn`);
    }
    await lookAtMemberships(tx, [id], by.at);
    await writeAudit(tx, by, 'members converge', `membership ${id}`);
  });
}
