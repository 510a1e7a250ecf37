import { type By, writeAudit } from '../db/audit-store.ts';
import { inTransaction, type Transaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import type { Storage } from '../keys/storage.ts';
import { addGivenAddress } from '../memberships/address-store.ts';

// The SQL of an operator's word about an account in doubt: it was a trainer's, and now shows an address that no
// source has reported for that trainer.

/**
 * The account is the trainer's, under this address: a removal ends it too.
 *
 * @throws AppError `not_found`, or `conflict` where there is none in doubt
 */
export function adoptDoubted(ctx: Storage, id: number, address: string, by: By): Promise<void> {
  return inTransaction(ctx.database, async (tx) => {
    const { install, trainerId, memberId, doubtedId } = await findDoubted(tx, id);
    await addGivenAddress(tx, ctx.box, { membershipId: id, install, trainerId, address }, by.at);
    await settle(tx, id, by.at, memberId ?? doubtedId);
    await writeAudit(tx, by, 'members adopt --address', `membership ${id}`);
  });
}

/**
 * The account belongs to another person.
 *
 * @throws AppError `conflict` where there is none in doubt
 */
export function releaseDoubted(ctx: Storage, id: number, by: By): Promise<'let_go'> {
  return inTransaction(ctx.database, async (tx) => {
    const { memberId, doubtedId } = await findDoubted(tx, id);
    // A list may have shown it since the last look.
    await settle(tx, id, by.at, memberId === doubtedId ? null : memberId);
    await writeAudit(tx, by, 'members release', `the account in doubt of membership ${id}`);
    return 'let_go' as const;
  });
}

async function findDoubted(tx: Transaction, id: number) {
  const doubted = await tx
    .selectFrom('membership')
    .select(['install', 'trainerId', 'memberId', 'doubtedId'])
    .where('id', '=', id)
    .where('doubtedId', 'is not', null)
    .executeTakeFirst();
  if (doubted !== undefined) return doubted;
  throw new AppError('conflict', `Membership ${id} has no account in doubt`);
}

/** What waited for the word is due again now. */
async function settle(tx: Transaction, id: number, at: string, memberId: string | null): Promise<void> {
  await tx
    .updateTable('membership')
    .set({ doubtedId: null, memberId, nextAttemptAt: at })
    .where('id', '=', id)
    .execute();
}
