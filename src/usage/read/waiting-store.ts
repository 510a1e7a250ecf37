import { inTransaction } from '../../db/database.ts';
import { heldStates } from '../../domain/membership.ts';
import type { Storage } from '../../keys/storage.ts';
import { addressesOfMemberships } from '../../memberships/address-store.ts';
import { noteArrival } from '../../memberships/look-store.ts';

// The SQL of memberships whose account is not known: the trainer was invited by a link that serves everyone, or a
// call that may have let them in was never answered. Such a trainer may be in and working at any moment.

export interface WaitingMembership {
  membershipId: number;
  tool: string;
  groupId: string;
  trainerId: string;
  memberId: string | null;
  /** The addresses, in lower case, that the trainer may be in under. */
  addresses: readonly string[];
}

export interface Arrived {
  waiting: WaitingMembership;
  /** The tool's id of the account. */
  accountId: string;
}

export async function listWaitingIn(
  ctx: Storage,
  tool: string,
  groupIds: readonly string[],
): Promise<WaitingMembership[]> {
  if (groupIds.length === 0) return [];
  const rows = await ctx.database.kysely
    .selectFrom('membership')
    .select(['id', 'tool', 'groupId', 'trainerId', 'memberId', 'wanted'])
    .where('tool', '=', tool)
    .where('groupId', 'in', groupIds)
    .where('state', 'in', heldStates)
    .where((eb) => eb.or([eb('memberId', 'is', null), eb('memberId', 'like', 'invited:%')]))
    .orderBy('id')
    .execute();
  const known = await addressesOfMemberships(
    ctx,
    ctx.database.kysely,
    rows.map(({ id }) => id),
  );
  return rows.flatMap(({ id, wanted, ...row }) => {
    const all = known.get(id) ?? [];
    if (all.every(({ givenAt }) => givenAt === null)) return [];
    // A wanted trainer may have come in under their current address.
    const theirs = all.filter((one) => one.givenAt !== null || (wanted && one.isCurrent));
    return [{ ...row, membershipId: id, addresses: theirs.map(({ address }) => address) }];
  });
}

/**
 * Stores the accounts that were found; from now on the work of an account is the trainer's. Wanted memberships
 * become due, so that converge completes them. Skips a membership that changed meanwhile, and an account of another
 * trainer.
 */
export async function settleArrived(ctx: Storage, arrived: readonly Arrived[], now: string): Promise<void> {
  if (arrived.length === 0) return;
  await inTransaction(ctx.database, async (tx) => {
    for (const { waiting, accountId } of arrived) {
      await noteArrival(tx, { ...waiting, accountId }, now);
    }
  });
}
